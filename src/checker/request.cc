// SPDX-License-Identifier: Apache-2.0
#include "checker/request.h"

#include <charconv>
#include <cstddef>

namespace glovebox::checker {

Result<Request> parse_request(std::string_view text) {
  std::size_t size = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
  const std::size_t begin = static_cast<std::size_t>(end - text.data()) + 1;
  if (failure != std::errc() || begin > text.size() || text[begin - 1] != '\n' ||
      size > text.size() - begin) {
    return Error(ErrorCode::kInternal, "glovebox-checker was started incorrectly");
  }
  const std::string_view rest = text.substr(begin);
  return Request{.schema = rest.substr(0, size), .document = rest.substr(size)};
}

}  // namespace glovebox::checker
