#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Dependencies as the compiler writes them.
printf 'program: main.o\n\t$(CC) $^ -o $@\nmain.o: main.c\n\t$(CC) -MMD -c $< -o $@\n-include main.d\n' > Makefile
make
