// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/page.h"

#include <charconv>

namespace glovebox::e2b {

Result<std::size_t> page_size(const Target& target) {
  const auto text = target.parameter("limit");
  if (!text || text->empty()) {
    return kMaxPage;
  }
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (error != std::errc() || end != text->data() + text->size() || limit < 1 || limit > kMaxPage) {
    return Error(ErrorCode::kInvalid, "'limit' must be between 1 and 100");
  }
  return limit;
}

}  // namespace glovebox::e2b
