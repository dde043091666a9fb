#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# The first commit at which three ones are not three.
cd repository
git bisect start main "$(git rev-list --max-parents=0 main)" > /dev/null
git bisect run python3 -Bc 'import total; exit(total.total([1, 1, 1]) != 3)' > ../log
git rev-parse refs/bisect/bad > ../answer
git bisect reset > ../log 2>&1
