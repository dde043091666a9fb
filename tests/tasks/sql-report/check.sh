#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
python3 - <<'PY'
import collections, csv, sqlite3
db = sqlite3.connect("shop.db")
countries = dict(db.execute("select id, country from customers"))
sums = collections.Counter()
for customer, day, cents, state in db.execute("select customer, day, cents, state from orders"):
    if state == "paid" and customer in countries:
        sums[day[:7], countries[customer]] += cents
rows = list(csv.reader(open("report.csv", newline="")))
assert rows[0] == ["month", "country", "euros"], rows[0]
assert rows[1:] == [[m, c, f"{v / 100:.2f}"] for (m, c), v in sorted(sums.items())]
PY
