#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# What is an address or a number goes; what only looks like one stays.
sed -i -E 's/[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+/[address]/g; s/\+[0-9]{2} [0-9]+ [0-9]+/[number]/g' letters/*.txt
