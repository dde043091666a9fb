#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# A name with a version, and a path relative to the program.
mkdir -p out/bin out/lib
gcc -shared -fPIC -Wl,-soname,libtwice.so.1 -o out/lib/libtwice.so.1.0 twice.c
ln -s libtwice.so.1.0 out/lib/libtwice.so.1
ln -s libtwice.so.1 out/lib/libtwice.so
gcc -o out/bin/main main.c -Lout/lib -ltwice -Wl,-rpath,'$ORIGIN/../lib'
