#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the C# agent: agent.exe in the folder named by the argument.
set -eu
source=$(dirname "$0")
mkdir -p "$1"
mcs -unsafe -optimize -out:"$1/agent.exe" -r:Mono.CSharp.dll -r:Mono.Posix.dll "$source"/src/*.cs
