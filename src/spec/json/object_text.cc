// SPDX-License-Identifier: Apache-2.0
#include "spec/json/object_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace glovebox {
namespace {

bool is_special(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// RFC 8259, 7.
void append_escape(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";
  out += '\\';
  for (std::size_t i = 0; i < kShort.size(); i += 2) {
    if (c == kShort[i]) {
      out += kShort[i + 1];
      return;
    }
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += "u00";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 0xFU];
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto special = std::ranges::find_if(text, is_special);
    const auto plain = static_cast<std::size_t>(special - text.begin());
    out += text.substr(0, plain);
    if (special == text.end()) {
      break;
    }
    append_escape(out, *special);
    text.remove_prefix(plain + 1);
  }
  out += '"';
}

}  // namespace

std::string quoted_json(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size() + 2);
  if (is_utf8(text)) {
    append_quoted(quoted, text);
  } else {
    append_quoted(quoted, to_utf8(text));
  }
  return quoted;
}

ObjectText& ObjectText::add(std::string_view name, double value) {
  if (!std::isfinite(value)) {
    return add_null(name);
  }
  std::array<char, 32> digits;  // The shortest form has 24 at most.
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  std::string text(digits.data(), written.ptr);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return add_text(name, text);
}

ObjectText& ObjectText::add_text(std::string_view name, std::string_view value) {
  text_ += text_.size() > 1 ? "," : "";
  append_quoted(text_, name);
  text_ += ':';
  text_ += value;
  return *this;
}

}  // namespace glovebox
