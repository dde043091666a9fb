// SPDX-License-Identifier: Apache-2.0
// What a guest has written, for a person to read: one line without control characters, in bounds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/text.h"

namespace glovebox::mcp {

inline std::string for_person(std::string_view text, std::size_t most) {
  return printable(AnsiStripper().strip(to_utf8(text.substr(0, most))));
}

}  // namespace glovebox::mcp
