// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <cstddef>
#include <cstdio>
#include <ctime>

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

std::chrono::system_clock::time_point from_rfc3339(const std::string& text) {
  tm parts{};
  int milliseconds = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec,
                  &milliseconds) != 7) {
    return {};
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return std::chrono::system_clock::from_time_t(::timegm(&parts)) +
         std::chrono::milliseconds(milliseconds);
}

}  // namespace glovebox
