// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace glovebox {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t kNoDigit = 64;

constexpr auto kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  digits['-'] = 62;
  digits['_'] = 63;
  return digits;
}();

bool is_space(char c) { return c == '\n' || c == '\r' || c == ' '; }

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text.push_back(i + j <= bytes.size() ? kAlphabet[group >> (18 - 6 * j) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (!text.empty() && (text.back() == '=' || is_space(text.back()))) {
    text.remove_suffix(1);
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  std::size_t count = 0;
  for (const char c : text) {
    if (is_space(c)) {
      continue;
    }
    const std::uint8_t digit = kDigits[static_cast<unsigned char>(c)];
    if (digit == kNoDigit) {
      return std::nullopt;
    }
    group = group << 6 | digit;
    ++count;
    if (count % 4 != 1) {
      bytes += static_cast<char>(group >> (4 - count % 4) % 4 * 2 & 0xFF);
    }
  }
  return count % 4 == 1 ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace glovebox
