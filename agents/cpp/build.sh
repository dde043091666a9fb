#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Precompiles the C++ agent's header into the folder named by the argument: about 80 MB, and 0.5 s less a cell.
# The flags must be those of compiler.py, or g++ ignores it.
set -eu
mkdir -p "$1"
cp "$(dirname "$0")/glovebox.h" "$1/glovebox.h"
g++ -std=c++20 -O1 -fPIC -w -fgnu-unique -x c++-header "$1/glovebox.h" -o "$1/glovebox.h.gch"
