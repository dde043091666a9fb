#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
python3 - <<'PY'
people = dict(line.strip().split(",") for line in open("people.csv"))
cities = dict(reversed(line.strip().split(",")) for line in open("cities.csv"))
wanted = [f"{id},{people[id]},{cities.get(id, 'none')}" for id in sorted(people, key=int)]
assert open("joined.csv").read().split() == wanted and "none" in wanted[0] + wanted[-1] + ",".join(wanted)
PY
