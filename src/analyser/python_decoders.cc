// SPDX-License-Identifier: Apache-2.0
#include "analyser/python_decoders.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace glovebox::analyser {
namespace {

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

int base64_digit(char c, bool for_urls) {
  if (for_urls) {
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+'             ? 62
         : c == '/'             ? 63
                                : -1;
}

// Five digits in base 85 are four bytes; a partial group has one digit more than bytes.
class Groups {
 public:
  bool add(std::uint32_t digit) {
    value_ = value_ * 85 + digit;
    if (++count_ < 5) {
      return true;
    }
    return flush(4);
  }
  // The rest is filled with the largest digit.
  std::optional<std::string> finish() {
    const std::size_t have = count_;
    while (count_ != 0 && count_ < 5) {
      value_ = value_ * 85 + 84;
      ++count_;
    }
    if (have != 0 && !flush(have - 1)) {
      return std::nullopt;
    }
    return out_;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  void zeros() { out_.append(4, '\0'); }

 private:
  bool flush(std::size_t bytes) {
    if (value_ > 0xFFFFFFFFU) {
      return false;
    }
    for (std::size_t i = 0; i < bytes; ++i) {
      out_ += static_cast<char>(value_ >> (24 - 8 * i) & 0xFFU);
    }
    value_ = 0;
    count_ = 0;
    return true;
  }
  std::string out_;
  std::uint64_t value_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

std::optional<std::string> from_base64(std::string_view text, bool for_urls) {
  std::string out;
  std::uint32_t bits = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '=') {
      if (digits >= 2 && digits + ++padding >= 4) {
        return out;
      }
      continue;
    }
    const int digit = base64_digit(c, for_urls);
    if (digit < 0) {
      continue;
    }
    padding = 0;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    digits = (digits + 1) % 4;
    if (digits != 1) {
      out += static_cast<char>(bits >> (digits == 2 ? 4U : digits == 3 ? 2U : 0U) & 0xFFU);
    }
  }
  return digits == 0 ? std::optional(out) : std::nullopt;
}

std::optional<std::string> from_base32(std::string_view text) {
  if (text.size() % 8 != 0) {
    return std::nullopt;
  }
  const std::size_t length = text.find_last_not_of('=') + 1;
  const std::size_t padding = text.size() - length;
  if (padding != 0 && padding != 1 && padding != 3 && padding != 4 && padding != 6) {
    return std::nullopt;
  }
  std::string out;
  std::uint64_t bits = 0;
  unsigned have = 0;
  for (const char c : text.substr(0, length)) {
    const int digit = c >= 'A' && c <= 'Z' ? c - 'A' : c >= '2' && c <= '7' ? c - '2' + 26 : -1;
    if (digit < 0) {
      return std::nullopt;
    }
    bits = bits << 5U | static_cast<std::uint64_t>(digit);
    have += 5;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have & 0xFFU);
    }
  }
  return out;
}

std::optional<std::string> from_base85(std::string_view text) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
  Groups groups;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos || !groups.add(static_cast<std::uint32_t>(digit))) {
      return std::nullopt;
    }
  }
  return groups.finish();
}

std::optional<std::string> from_ascii85(std::string_view text) {
  Groups groups;
  for (const char c : text) {
    if (c >= '!' && c <= 'u') {
      if (!groups.add(static_cast<std::uint32_t>(c - '!'))) {
        return std::nullopt;
      }
    } else if (c == 'z' && groups.empty()) {
      groups.zeros();
    } else if (std::string_view(" \t\n\r\v").find(c) == std::string_view::npos) {
      return std::nullopt;
    }
  }
  return groups.finish();
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (std::string_view(" \t\n\r\v\f").find(text[i]) != std::string_view::npos) {
      ++i;
      continue;
    }
    const int high = hex_digit(text[i]);
    const int low = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string from_rot13(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const char first = c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : '\0';
    c = first == '\0' ? c : static_cast<char>(first + (c - first + 13) % 26);
  }
  return out;
}

std::string from_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace glovebox::analyser
