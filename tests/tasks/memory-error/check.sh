#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
gcc -O1 -g -fsanitize=address,undefined -o checked words.c
export ASAN_OPTIONS=detect_leaks=0
[ "$(./checked pear fig apple | tr '\n' ' ')" = 'apple fig pear ' ]
[ "$(./checked one)" = one ]
