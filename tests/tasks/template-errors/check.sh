#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
cat > check.cc <<'END'
#include <cassert>
#include <string>
#include "cache.h"
int main() {
  Cache<int, std::string> cache(2);
  cache.put(1, "a");
  cache.put(1, "b");
  cache.put(2, "c");
  assert(cache.find(1) == "b");
  cache.put(3, "d");
  assert(!cache.find(2) && cache.find(1) == "b" && cache.find(3) == "d");
}
END
g++ -std=c++17 -Wall -Werror -fsanitize=address,undefined -o check check.cc
ASAN_OPTIONS=detect_leaks=0 ./check
