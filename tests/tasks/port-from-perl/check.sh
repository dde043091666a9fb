#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
printf 'b = 2\nA=1\n# no\n\n  a = 3.5 kg\nb= -1e1\nlongest-name = 7\nc\nd = x\n' > input
perl report.pl < input > wanted
[ -s wanted ]
python3 report.py < input | cmp - wanted
