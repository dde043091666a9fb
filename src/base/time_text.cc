// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <cstddef>

namespace glovebox {
namespace {

void put_digits(std::string& text, std::size_t last, unsigned value) {
  for (; value > 0; value /= 10) {
    text[last--] = static_cast<char>('0' + value % 10);
  }
}

}  // namespace

std::string to_rfc3339(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  const auto day = std::chrono::floor<std::chrono::days>(since);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss clock{since - day};
  std::string text("0000-00-00T00:00:00.000Z");
  // The range of the clock ends in the year 2262.
  put_digits(text, 3, static_cast<unsigned>(static_cast<int>(date.year())));
  put_digits(text, 6, static_cast<unsigned>(date.month()));
  put_digits(text, 9, static_cast<unsigned>(date.day()));
  put_digits(text, 12, static_cast<unsigned>(clock.hours().count()));
  put_digits(text, 15, static_cast<unsigned>(clock.minutes().count()));
  put_digits(text, 18, static_cast<unsigned>(clock.seconds().count()));
  put_digits(text, 22, static_cast<unsigned>(clock.subseconds().count()));
  return text;
}

}  // namespace glovebox
