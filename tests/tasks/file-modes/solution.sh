#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# Keys for their owner alone; programs that run; pages that anybody reads.
find site -type d -exec chmod 755 {} +
chmod 700 site/keys
chmod 600 site/keys/*
chmod 755 site/bin/*
chmod 644 site/public/*
