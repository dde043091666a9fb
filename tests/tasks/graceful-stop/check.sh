#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
rm -f log worker.pid
bash worker.sh &
worker=$!
until grep -q 'begin 2' log 2> /dev/null; do sleep 0.05; done
kill -TERM $worker
wait $worker
[ ! -e worker.pid ]
[ "$(grep -c begin log)" = "$(grep -c end log)" ]
