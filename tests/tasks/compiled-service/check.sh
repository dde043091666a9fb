#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
ask() { exec 3<> /dev/tcp/127.0.0.1/8080; printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3; cat <&3; }
ask /health | tail -n 1 | grep -qx up
ask /other | head -n 1 | grep -q ' 404 '
