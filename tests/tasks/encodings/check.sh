#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
[ "$(cat texts/* | sha256sum)" = "$(for _ in 1 2 3 4; do printf 'Grüße aus Köln\nzweite Zeile\n'; done | sha256sum)" ]
[ "$(ls texts | wc -l)" = 4 ]
