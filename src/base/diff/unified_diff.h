// SPDX-License-Identifier: Apache-2.0
// The difference of two texts as diff -u writes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/diff/line_diff.h"

namespace glovebox {

struct UnifiedDiff {
  std::string hunks;  // From the first "@@" on, with three lines around each change.
  std::size_t added = 0;
  std::size_t removed = 0;
};

// `effort` as in diff_lines().
UnifiedDiff unified_diff(std::string_view before,
                         std::string_view after,
                         std::size_t effort = kDiffEffort);

// Whether it is not meant to be read by lines: there is a zero byte near its beginning.
bool looks_binary(std::string_view content);

}  // namespace glovebox
