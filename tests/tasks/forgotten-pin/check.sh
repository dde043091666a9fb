#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
[ "$(sha256sum < note.txt | cut -c 1-64)" = "$(head -c 32 note.enc | od -An -vtx1 | tr -d ' \n')" ]
