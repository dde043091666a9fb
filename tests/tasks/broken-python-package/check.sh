#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
python3 -B -m unittest discover -q tests -t .
grep -q 'assertEqual(area("circle", 3), math.pi \* 9)' tests/test_area.py
