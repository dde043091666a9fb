#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
[ "$(stat -c '%U %a' /srv/clerk/secret)" = 'clerk 400' ]
[ "$(tr '\n' ' ' < /srv/clerk/said)" = 'clerk token ' ]
[ "$(getent passwd clerk | cut -d: -f7)" = /usr/sbin/nologin ]
[ ! -e secret ]
