#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Perl takes the number at the beginning of a text, and zero where there is none.
cat > report.py <<'END'
import re, sys
totals, counts = {}, {}
for line in sys.stdin:
    line = line.rstrip("\n")
    if re.match(r"\s*(#|$)", line):
        continue
    name, value = (re.split(r"\s*=\s*", line, maxsplit=1) + [""])[:2]
    name = name.lstrip().lower()
    number = re.match(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", value)
    totals[name] = totals.get(name, 0) + (float(number[0]) if number else 0)
    counts[name] = counts.get(name, 0) + 1
for name in sorted(totals, key=lambda name: (-totals[name], name)):
    print(f"{name[:8]:<8}|{totals[name] / counts[name]:8.3f}|{counts[name]:3d}")
END
