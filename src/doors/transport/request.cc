// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "doors/transport/http.h"

namespace glovebox::http {

Result<std::string> Request::read_all(std::size_t most) {
  constexpr std::size_t kPiece = 64 * 1024;
  if (content_length().value_or(0) > most) {
    return Error(ErrorCode::kExhausted,
                 "the body is larger than " + std::to_string(most) + " bytes");
  }
  std::string body;
  while (true) {
    // One byte more than allowed, so that a body of just that size is not taken for a larger one.
    const std::size_t held = body.size();
    const std::size_t expected = static_cast<std::size_t>(content_length().value_or(kPiece));
    body.resize(held + std::min({most + 1 - held, kPiece, std::max<std::size_t>(expected, 1)}));
    auto count = read(std::span(body).subspan(held));
    if (!count) {
      return std::move(count).error();
    }
    body.resize(held + *count);
    if (*count == 0) {
      return body;
    }
    if (body.size() > most) {
      return Error(ErrorCode::kExhausted,
                   "the body is larger than " + std::to_string(most) + " bytes");
    }
  }
}

}  // namespace glovebox::http
