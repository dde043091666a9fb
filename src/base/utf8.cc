// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>

namespace glovebox {

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

std::string_view cut_at_character(std::string_view text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && continues_character(text[most])) {
    --most;
  }
  return text.substr(0, most);
}

std::size_t unfinished_character(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const char byte = text[text.size() - back];
    if (!continues_character(byte)) {
      return length_of_character(byte) > back ? back : 0;
    }
  }
  return 0;
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
  const auto put_rest = [&](unsigned shift) { put(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | code >> 6U);
    put_rest(0);
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put_rest(6);
    put_rest(0);
  } else if (code < 0x110000) {
    put(0xF0U | code >> 18U);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

}  // namespace glovebox
