// SPDX-License-Identifier: Apache-2.0
// GB_CHECK: a statement about this program that only a bug can make false.
#pragma once

namespace glovebox {

// Writes the message to standard error and aborts. Never returns.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace glovebox

// Aborts when `condition` is false, in every build. For bugs only: what a guest or a caller can
// cause is a Verdict or an Error.
#define GB_CHECK(condition)                                          \
  do {                                                               \
    if (!(condition)) {                                              \
      ::glovebox::check_failed(#condition, __FILE_NAME__, __LINE__); \
    }                                                                \
  } while (false)
