#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
python3 - <<'PY'
import collections, re
whole = re.compile(r'(\S+) - - \[[^]]+\] "[^"]+" (\d{3}) \d+$')
failures, cut = collections.Counter(), 0
for line in open("access.log"):
    match = whole.match(line.rstrip("\n"))
    if not match:
        cut += 1
    elif match[2] == "500":
        failures[match[1]] += 1
best = sorted(failures.items(), key=lambda item: (-item[1], item[0]))[:10]
assert open("worst.txt").read() == "".join(f"{n} {ip}\n" for ip, n in best)
assert int(open("cut.txt").read()) == cut
PY
