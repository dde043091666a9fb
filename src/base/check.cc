// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace glovebox {

void check_failed(const char* condition, const char* file, int line) noexcept {
  (void)std::fprintf(stderr, "glovebox: bug: assertion failed: %s at %s:%d\n", condition, file,
                     line);
  std::abort();
}

}  // namespace glovebox
