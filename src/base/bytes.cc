// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace glovebox {

Result<Bytes> parse_bytes(std::string_view text) {
  const auto invalid = [text] {
    return Error(ErrorCode::kInvalid,
                 "'" + std::string(text) + "' is no size",
                 "write a number with K, M, G or T, for instance 512M");
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure != std::errc{} || !std::isfinite(number) || number < 0) {
    return invalid();
  }
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
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
  const double bytes = std::ldexp(number, shift);
  if (bytes >= 9.2e18) {
    return invalid();
  }
  return Bytes{static_cast<std::uint64_t>(bytes)};
}

std::string to_string(Bytes bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const int decimals = value >= 100 || value == std::floor(value) ? 0 : value >= 10 ? 1 : 2;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f %s", decimals, value, kUnits.at(unit));
  return text.data();
}

}  // namespace glovebox
