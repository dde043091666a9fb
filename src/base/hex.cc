// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

#include <cstddef>

namespace glovebox {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 15U];
  }
  return text;
}

std::string to_hex(std::string_view bytes) {
  return to_hex({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::size_t high = kHexDigits.find(text[at]);
    const std::size_t low = kHexDigits.find(text[at + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return std::nullopt;
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

}  // namespace glovebox
