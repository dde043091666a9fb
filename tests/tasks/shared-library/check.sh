#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
rm -rf moved && cp -a out moved
[ "$(env -u LD_LIBRARY_PATH moved/bin/main)" = 42 ]
readelf -d moved/bin/main | grep -q 'NEEDED.*\[libtwice.so.1\]'
[ "$(readlink moved/lib/libtwice.so.1)" = libtwice.so.1.0 ]
rm -r moved
