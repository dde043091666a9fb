#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
[ -z "$(git status --short)" ]
[ "$(git rev-list --parents -n 1 HEAD | wc -w)" = 3 ]
[ "$(sort app.conf | tr '\n' ';')" = 'host = example.com;port = 443;tls = yes;' ]
