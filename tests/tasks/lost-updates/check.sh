#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
echo 0 > counter
for _ in 1 2 3 4 5 6; do python3 count.py counter 40 2> /dev/null & done
wait
[ "$(cat counter)" = 240 ]
