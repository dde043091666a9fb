#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# A cycle of imports, a radius that is not squared, and the wrong exception.
sed -i '/import area/d; /KNOWN/d' shapes/names.py
sed -i 's/math.pi \* size}/math.pi * size * size}/' shapes/area.py
sed -i 's/^def area.*/&\n    if kind not in (names.SQUARE, names.CIRCLE):\n        raise ValueError(f"unknown shape {kind!r}")/' shapes/area.py
