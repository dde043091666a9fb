// SPDX-License-Identifier: Apache-2.0
// What people and guests write: sizes, durations, and output made fit for JSON and terminals.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"
#include "require.h"

namespace {

using namespace glovebox;

void check_numbers(std::string_view text) {
  if (const auto bytes = parse_bytes(text)) {
    require(bytes.value().count < 1ULL << 63);
    require(!to_string(bytes.value()).empty());
  } else {
    require(!bytes.error().hint().empty());
  }
  if (const auto duration = parse_duration(text)) {
    require(duration.value().count() >= 0);
    require(duration.value() <= std::chrono::hours(24 * 366));
  } else {
    require(!duration.error().hint().empty());
  }
}

void check_utf8(std::string_view bytes) {
  const std::string valid = to_utf8(bytes);
  require(is_utf8(valid));
  require(is_utf8(bytes) == (valid == bytes));
  require(to_utf8(valid) == valid);
  // A piece that is replaced has at least one byte; U+FFFD has three.
  require(valid.size() <= 3 * bytes.size());
}

void check_printable(std::string_view bytes) {
  const std::string text = printable(bytes);
  require(is_utf8(text));
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    require(byte >= 0x20 && byte != 0x7F);
    // U+0080 to U+009F: U+009B is CSI to xterm, whatever the encoding.
    require(before != 0xC2 || byte >= 0xA0);
    before = byte;
  }
}

int base64_digit(char c) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t digit = kDigits.find(c);
  require(digit != std::string_view::npos);
  return static_cast<int>(digit);
}

// A decoder of its own: what comes back must be what went in.
void check_base64(std::string_view bytes) {
  const std::string text = to_base64(bytes);
  require(text.size() == (bytes.size() + 2) / 3 * 4);
  std::string back;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::uint32_t group = 0;
    std::size_t digits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const bool padding = text[at + i] == '=';
      require(!padding || (at + 4 == text.size() && i >= 2));
      require(padding || digits == i);
      group = group << 6 | static_cast<std::uint32_t>(padding ? 0 : base64_digit(text[at + i]));
      digits += padding ? 0 : 1;
    }
    for (std::size_t i = 0; i + 1 < digits; ++i) {
      back.push_back(static_cast<char>(group >> (16 - 8 * i) & 0xFF));
    }
  }
  require(back == bytes);
}

// Cut into pieces of the sizes that `sizes` tells, a stream loses the same sequences.
void check_stripper(std::string_view sizes, std::string_view bytes) {
  AnsiStripper at_once;
  const std::string whole = at_once.strip(bytes);
  require(whole.size() <= bytes.size());
  require(whole.find('\x1b') == std::string::npos);
  AnsiStripper stripper;
  std::string pieces;
  std::size_t turn = 0;
  while (!bytes.empty()) {
    const std::size_t next =
        sizes.empty() ? 1 : static_cast<unsigned char>(sizes[turn++ % sizes.size()]) % 32;
    const std::size_t piece = std::min(bytes.size(), std::max<std::size_t>(next, 1));
    pieces += stripper.strip(bytes.substr(0, piece));
    bytes.remove_prefix(piece);
  }
  require(pieces == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_numbers(bytes);
  check_utf8(bytes);
  check_printable(bytes);
  check_base64(bytes);
  const std::size_t sizes = std::min<std::size_t>(4, size);
  check_stripper(bytes.substr(0, sizes), bytes.substr(sizes));
  return 0;
}
