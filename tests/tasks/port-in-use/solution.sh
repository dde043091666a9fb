#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# The old one is started here, as no process outlives a build; then found by its port and ended.
setsid python3 serve.py old < /dev/null > /dev/null 2>&1 &
port_is() { for _ in $(seq 100); do (exec 3<> /dev/tcp/127.0.0.1/9000) 2> /dev/null && found=open || found=closed; [ $found = "$1" ] && return 0; sleep 0.1; done; return 1; }
port_is open
inode=$(awk '$2 ~ /:2328$/ && $4 == "0A" {print $10}' /proc/net/tcp)
for process in /proc/[0-9]*; do
  if ls -l "$process/fd" 2> /dev/null | grep -q "socket:\[$inode\]"; then kill "${process#/proc/}"; fi
done
port_is closed
setsid python3 serve.py new < /dev/null > /dev/null 2>&1 &
port_is open
