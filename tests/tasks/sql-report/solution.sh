#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Paid orders of customers that there are, by month and country, in euros.
python3 - <<'PY'
import csv, sqlite3
rows = sqlite3.connect("shop.db").execute(
    "select substr(day, 1, 7), country, sum(cents) from orders join customers on customers.id = customer "
    "where state = 'paid' group by 1, 2 order by 1, 2")
with open("report.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["month", "country", "euros"])
    writer.writerows((month, country, f"{cents / 100:.2f}") for month, country, cents in rows)
PY
