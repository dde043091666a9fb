// SPDX-License-Identifier: Apache-2.0
// What a fuzz target insists on; libFuzzer keeps the input of each failure.
#pragma once

#include <cstdio>
#include <cstdlib>

// The builtins stand in for std::source_location, which clang 14 does not have.
inline void require(bool holds, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!holds) {
    (void)std::fprintf(stderr, "%s:%d: requirement failed\n", file, line);
    std::abort();
  }
}
