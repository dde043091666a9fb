// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/status.h"

#include <array>
#include <charconv>
#include <ostream>

// Boost 1.74 uses std::ostream without including it.
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/status.hpp>

namespace glovebox::http {

std::string_view reason_phrase(int status) {
  const auto known = boost::beast::http::int_to_status(static_cast<unsigned>(status));
  const auto phrase = boost::beast::http::obsolete_reason(known);
  return {phrase.data(), phrase.size()};
}

bool equal_names(std::string_view left, std::string_view right) {
  return boost::beast::iequals({left.data(), left.size()}, {right.data(), right.size()});
}

std::string chunk_size(std::size_t size) {
  std::array<char, 18> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + 16, size, 16).ptr;
  return std::string(digits.data(), end) + "\r\n";
}

}  // namespace glovebox::http
