#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# The account owns the secret, has no shell, and is who runs the service.
useradd --system --no-create-home --shell /usr/sbin/nologin clerk
mkdir -p /srv/clerk
cp secret service.sh /srv/clerk/
rm secret
chown -R clerk: /srv/clerk
chmod 400 /srv/clerk/secret
cd /srv/clerk && setpriv --reuid=clerk --regid=clerk --clear-groups ./service.sh said secret
