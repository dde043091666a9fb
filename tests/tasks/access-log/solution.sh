#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Whole lines alone: the ten clients with the most failures, and how many lines were cut off.
pattern='^[0-9.]+ - - \[[^]]+\] "[^"]+" [0-9]{3} [0-9]+$'
grep -E "$pattern" access.log | awk '$(NF - 1) == 500 {count[$1]++} END {for (ip in count) print count[ip], ip}' |
  sort -k1,1nr -k2,2 | head -n 10 > worst.txt
grep -vcE "$pattern" access.log > cut.txt
