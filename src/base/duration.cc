// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <charconv>
#include <cmath>
#include <string>

namespace glovebox {

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto invalid = [text] {
    return Error(ErrorCode::kInvalid, "invalid duration '" + std::string(text) + "'",
                 "use a number with a unit (ms, s, m, h or d), for example 30s");
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (failure != std::errc{} || !std::isfinite(number) || number < 0) {
    return invalid();
  }
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double scale = 0;
  if (unit.empty() || unit == "s") {
    scale = 1e3;
  } else if (unit == "ms") {
    scale = 1;
  } else if (unit == "m") {
    scale = 60e3;
  } else if (unit == "h") {
    scale = 3600e3;
  } else if (unit == "d") {
    scale = 24 * 3600e3;
  } else {
    return invalid();
  }
  const double milliseconds = number * scale;
  if (milliseconds > 366.0 * 24 * 3600e3) {
    return invalid();
  }
  return std::chrono::milliseconds(std::llround(milliseconds));
}

}  // namespace glovebox
