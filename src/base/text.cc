// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <array>
#include <cstdint>

namespace glovebox {
namespace {

// How many bytes at the front of `bytes` are one character; or, with `valid` false, how many to
// replace together.
std::size_t first_character(std::string_view bytes, bool& valid) {
  const auto at = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  valid = false;
  const unsigned char lead = at(0);
  if (lead < 0x80) {
    valid = true;
    return 1;
  }
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    low = lead == 0xE0 ? 0xA0 : low;    // No overlong forms,
    high = lead == 0xED ? 0x9F : high;  // no surrogates,
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    low = lead == 0xF0 ? 0x90 : low;
    high = lead == 0xF4 ? 0x8F : high;  // nothing above U+10FFFF.
  } else {
    return 1;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= bytes.size() || at(i) < low || at(i) > high) {
      return i;
    }
    low = 0x80;
    high = 0xBF;
  }
  valid = true;
  return length;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  bool valid = true;
  while (valid && !bytes.empty()) {
    bytes.remove_prefix(first_character(bytes, valid));
  }
  return valid;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    bool valid = false;
    const std::size_t length = first_character(bytes, valid);
    text += valid ? bytes.substr(0, length) : std::string_view("\xEF\xBF\xBD");
    bytes.remove_prefix(length);
  }
  return text;
}

std::string AnsiStripper::strip(std::string_view bytes) {
  constexpr unsigned char kEscape = 0x1B;
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    switch (state_) {
      case State::kText:
        if (byte == kEscape) {
          state_ = State::kEscape;
        } else {
          text.push_back(c);
        }
        break;
      case State::kEscape:
        if (c == '[') {
          state_ = State::kControl;
        } else if (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X') {
          state_ = State::kString;
        } else if (byte != kEscape && (byte < 0x20 || byte > 0x2F)) {
          state_ = State::kText;  // The final byte; those up to 0x2F are intermediate.
        }
        break;
      case State::kControl:
        if (byte == kEscape) {
          state_ = State::kEscape;
        } else if (byte >= 0x40 && byte <= 0x7E) {
          state_ = State::kText;
        }
        break;
      case State::kString:
        if (byte == 0x07) {
          state_ = State::kText;
        } else if (byte == kEscape) {
          state_ = State::kStringEscape;
        }
        break;
      case State::kStringEscape:
        if (byte != kEscape) {
          state_ = c == '\\' ? State::kText : State::kString;
        }
        break;
    }
  }
  return text;
}

namespace {

// Characters that change the direction of what follows: U+200E and U+200F, U+202A to U+202E, U+2066
// to U+2069 (UAX #9). A name with one reads as another.
bool turns_text(std::string_view three_bytes) {
  if (three_bytes.size() < 3 || three_bytes[0] != '\xE2') {
    return false;
  }
  const auto second = static_cast<unsigned char>(three_bytes[1]);
  const auto third = static_cast<unsigned char>(three_bytes[2]);
  return (second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xAA && third <= 0xAE))) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

}  // namespace

std::string printable(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::string utf8 = to_utf8(bytes);
  std::string text;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const char c = utf8[i];
    auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F are control characters too; their second byte is their number.
    const bool two_bytes = c == '\xC2' && static_cast<unsigned char>(utf8[i + 1]) < 0xA0;
    if (two_bytes) {
      byte = static_cast<unsigned char>(utf8[++i]);
    }
    if (turns_text(std::string_view(utf8).substr(i, 3))) {
      const unsigned number = 0x2000U + ((static_cast<unsigned char>(utf8[i + 1]) & 0x3FU) << 6) +
                              (static_cast<unsigned char>(utf8[i + 2]) & 0x3FU);
      text += "\\u";
      for (const int shift : {12, 8, 4, 0}) {
        text.push_back(kHex[(number >> shift) & 15]);
      }
      i += 2;
    } else if (c == '\n') {
      text += "\\n";
    } else if (two_bytes || byte < 0x20 || byte == 0x7F) {
      text += "\\x";
      text.push_back(kHex[byte >> 4]);
      text.push_back(kHex[byte & 15]);
    } else {
      text.push_back(c);
    }
  }
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return lower;
}

}  // namespace glovebox
