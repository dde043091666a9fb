// SPDX-License-Identifier: Apache-2.0
// Bytes: a count of bytes, so that a limit in MiB cannot be passed where bytes are meant.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

struct Bytes {
  std::uint64_t count = 0;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes{n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes{n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes{n << 30}; }

// Reads "1048576", "512K", "512M", "1.5G", also with "iB" or "B" after the letter; each letter is a
// power of 1024. Fails with kInvalid on anything else and on what does not fit 63 bits.
Result<Bytes> parse_bytes(std::string_view text);

// "512 MiB", "1.50 KiB", "17 B": three significant digits, for people.
std::string to_string(Bytes bytes);

}  // namespace glovebox
