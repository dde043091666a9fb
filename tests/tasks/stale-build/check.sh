#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
make program
make -q program
[ "$(./program)" = 1 ]
cp value.h kept.h
sed -i 's/1/2/' value.h
touch -d '+2 seconds' value.h
! make -q program
make program
[ "$(./program)" = 2 ]
mv kept.h value.h
