// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace glovebox {

Result<Bytes> parse_bytes(std::string_view text) {
  const auto invalid = [text] {
    return Error(ErrorCode::kInvalid, "invalid size '" + std::string(text) + "'",
                 "use a number with a unit (K, M, G or T), for example 512M");
  };
  const auto too_large = [text] {
    return Error(ErrorCode::kInvalid, "size '" + std::string(text) + "' is too large",
                 "use less than 8388608T");
  };
  // Kept apart, since no double holds every whole number of 63 bits.
  std::uint64_t whole = 0;
  double fraction = 0;
  const char* const end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, whole);
  if (read.ec != std::errc::result_out_of_range && read.ptr != end && *read.ptr == '.') {
    read = std::from_chars(read.ptr, end, fraction, std::chars_format::fixed);
  }
  if (read.ec == std::errc::result_out_of_range) {
    return too_large();
  }
  if (read.ec != std::errc{}) {
    return invalid();
  }
  std::string_view unit(read.ptr, static_cast<std::size_t>(end - read.ptr));
  int shift = 0;
  if (!unit.empty() && unit != "B" && unit != "b") {
    constexpr std::string_view kLetters = "KMGT";
    constexpr std::string_view kLower = "kmgt";
    std::size_t step = kLetters.find(unit.front());
    if (step == std::string_view::npos) {
      step = kLower.find(unit.front());
    }
    unit.remove_prefix(1);
    if (step == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "iB")) {
      return invalid();
    }
    shift = 10 * (static_cast<int>(step) + 1);
  }
  if (whole > (std::uint64_t{INT64_MAX} >> shift)) {
    return too_large();
  }
  // A double may round a fraction up to one.
  const auto part = static_cast<std::uint64_t>(std::ldexp(fraction, shift));
  return Bytes{(whole << shift) + std::min(part, (std::uint64_t{1} << shift) - 1)};
}

std::string to_string(Bytes bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  // Three digits after rounding: 9.995 becomes 10.0.
  const int decimals = value >= 99.95 || value == std::floor(value) ? 0 : value >= 9.995 ? 1 : 2;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, kUnits.at(unit));
  return text.data();
}

}  // namespace glovebox
