#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Java agent into the folder named by the argument: agent.jar, and agent.jsa, an archive of loaded
# classes that more than halves the start. A JVM other than the one that wrote the archive ignores it.
set -eu
source=$(dirname "$0")
out=$1
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
mkdir -p "$out"
javac -nowarn -XDignore.symbol.file -d "$classes" "$source"/glovebox/*.java
jar --create --file "$out/agent.jar" --main-class glovebox.Agent -C "$classes" .
java -XX:ArchiveClassesAtExit="$out/agent.jsa" -Xlog:cds=off -Xlog:cds+dynamic=off -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
  --add-opens java.base/java.io=ALL-UNNAMED -cp "$out/agent.jar" glovebox.Agent --train 3>/dev/null >/dev/null
