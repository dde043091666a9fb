#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
python3 -c 'import urllib.request; assert urllib.request.urlopen("http://127.0.0.1:9000/").read() == b"new"'
[ "$(grep -lsz '^serve.py$' /proc/[0-9]*/cmdline | wc -l)" = 1 ]
