#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# The arguments are those from 1 to argc - 1.
sed -i 's/i <= argc; i++) sorted/i < argc; i++) sorted/; s/j < argc; j++/j < argc - 1; j++/; s/^  return 0;/  free(sorted);\n  return 0;/' words.c
gcc -O1 -g -fsanitize=address,undefined -o words words.c
