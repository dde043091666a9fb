// SPDX-License-Identifier: Apache-2.0
// Changes as people and git read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/agent/changes.h"
#include "cli/agent/checkout.h"
#include "cli/shown_patch.h"

namespace glovebox::cli {

struct ChangeText {
  std::string patch;  // As `git apply` takes it; for binary files only that they differ.
  std::size_t added = 0;
  std::size_t removed = 0;
  bool binary = false;  // Or too large to be compared by lines.
};

// `before` is what the file was, and `old` its content; null and empty for an added file.
ChangeText change_text(const Change& change, const CheckoutFile* before, std::string_view old);

// "M src/main.c  +3 -1"
std::string shown_change(const Change& change, const ChangeText& text, bool colour);

}  // namespace glovebox::cli
