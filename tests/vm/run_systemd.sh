#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a directory, and runs systemd_suite.py with it in a machine of its own.
# Usage: run_systemd.sh BUILD-DIRECTORY
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 0755 "$tree"
cmake --install "$1" --prefix "$tree" --strip > /dev/null
"$here/run_in_vm.py" --timeout 840 --memory 3G --share "$tree" \
  --command "$here/systemd_suite.py --change-files --tree $tree"
