// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/json_bounds.h"

#include <algorithm>

#include "base/utf8.h"

namespace glovebox::notebook {

Result<void> check_json_bounds(std::string_view text, std::size_t depth, std::size_t values) {
  std::size_t open = 0;
  std::size_t seen = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++open > depth) {
        return Error(ErrorCode::kInvalid,
                     place_in(text, i) + ": values nest deeper than " + std::to_string(depth));
      }
      ++seen;
    } else if (c == ']' || c == '}') {
      open -= open > 0 ? 1U : 0U;
    } else if (c == ',' && ++seen > values) {
      return Error(ErrorCode::kInvalid,
                   place_in(text, i) + ": more than " + std::to_string(values) + " values");
    }
  }
  return {};
}

std::string place_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t line_start = before.rfind('\n') + 1;
  const std::string_view line = before.substr(line_start);
  return "line " + std::to_string(1 + std::ranges::count(before, '\n')) + ", column " +
         std::to_string(1 + count_characters(line));
}

}  // namespace glovebox::notebook
