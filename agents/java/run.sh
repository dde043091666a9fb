#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts the Java agent from the folder that build.sh wrote (the argument; this script's own by default).
# The quick compiler and the serial collector suit short snippets: both save time and memory at the start.
out=${1:-$(dirname "$0")}
exec java -Xshare:auto -XX:SharedArchiveFile="$out/agent.jsa" -Xlog:disable -Xlog:all=off \
  -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dfile.encoding=UTF-8 \
  --add-opens java.base/java.io=ALL-UNNAMED -cp "$out/agent.jar" glovebox.Agent
