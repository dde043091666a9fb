// SPDX-License-Identifier: Apache-2.0
#include "analyser/lines.h"

#include <algorithm>

#include "base/utf8.h"

namespace glovebox::analyser {

Lines::Lines(std::string_view text, std::optional<Inside> inside) : text_(text), inside_(inside) {
  if (inside_) {
    return;
  }
  starts_.push_back(0);
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    starts_.push_back(static_cast<std::uint32_t>(at + 1));
  }
}

Place Lines::place(std::size_t at) const {
  if (inside_) {
    return inside_->at;
  }
  at = std::min(at, text_.size());
  const auto line = std::ranges::upper_bound(starts_, at) - 1;
  // A line may be as long as the text: far into a very long one, the column counts bytes.
  constexpr std::size_t kMostCounted = 4096;
  const std::size_t before = at - *line;
  const std::size_t characters =
      before > kMostCounted ? before : count_characters(text_.substr(*line, before));
  return {.line = static_cast<std::uint32_t>(line - starts_.begin() + 1),
          .column = static_cast<std::uint32_t>(characters + 1)};
}

}  // namespace glovebox::analyser
