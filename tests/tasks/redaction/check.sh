#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
[ "$(cat letters/*.txt | grep -c 'write to \[address\] or call \[number\]\.')" = 30 ]
[ "$(cat letters/*.txt | grep -c 'a@b, @home, 3@\.')" = 30 ]
! grep -rq 'example.com\|+49' letters
