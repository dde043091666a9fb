#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
[ "$(find site/keys -printf '%m ' | tr ' ' '\n' | sort -u | tr '\n' ' ')" = '600 700 ' ]
[ "$(stat -c %a site/bin/start site/bin/stop site/public/index.html site site/bin | tr '\n' ' ')" = '755 755 644 755 755 ' ]
site/bin/start | grep -qx start
