#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Each person once, with "none" where nobody knows the city.
sort -t, -k1,1 people.csv > people.sorted
awk -F, '{city[$2] = $1} END {for (id in city) print id "," city[id]}' cities.csv | sort -t, -k1,1 > cities.sorted
join -t, -a 1 -e none -o 0,1.2,2.2 people.sorted cities.sorted | sort -t, -k1,1n > joined.csv
