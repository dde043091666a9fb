#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
dpkg --root="$PWD/root" -s greeter | grep -q 'Status: install ok installed'
[ "$(cat root/opt/greeter/active)" = hello ]
