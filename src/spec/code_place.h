// SPDX-License-Identifier: Apache-2.0
// A place in code, and what a live interpreter knows about it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox {

// Positions are counted in Unicode code points, as Jupyter counts them.
struct CodePlace {
  static constexpr std::size_t kMaxCode = 256UL * 1024;  // Bytes.

  std::string code{};                   // UTF-8
  std::optional<std::size_t> cursor{};  // Code points before it; absent: at the end.
};

// The cursor of a place. kInvalid when it is beyond the end of the code, or the code is larger than
// kMaxCode.
Result<std::size_t> cursor_of(const CodePlace& place);

// What may replace the code points from `start` to before `end`; start <= end <= the code's length.
struct Completion {
  std::vector<std::string> matches{};
  std::size_t start = 0;
  std::size_t end = 0;
};

// A description by MIME type, "text/plain" in most cases. Empty unless the name was found.
struct Inspection {
  bool found = false;
  std::map<std::string, std::string> data{};
};

}  // namespace glovebox
