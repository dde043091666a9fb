#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# The host of one, the port and the certificate of the other.
printf 'host = example.com\nport = 443\ntls = yes\n' > app.conf
git add app.conf
git commit -qm 'merge tls'
