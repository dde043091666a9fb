// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/times.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace glovebox::e2b {
namespace {

std::tm broken_down(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  (void)::gmtime_r(&time, &parts);
  return parts;
}

std::string with_fraction(std::int64_t seconds, std::int64_t fraction, int digits) {
  const std::tm parts = broken_down(seconds);
  std::array<char, 64> whole{};
  const std::size_t length = std::strftime(whole.data(), whole.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 32> rest{};
  (void)std::snprintf(rest.data(), rest.size(), ".%0*lldZ", digits,
                      static_cast<long long>(fraction));
  return std::string(whole.data(), length) + rest.data();
}

// Rounds down also before the epoch, as a clock does.
std::int64_t floor_divide(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

}  // namespace

std::string to_rfc3339(SystemClock::time_point moment) {
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(moment.time_since_epoch()).count();
  const std::int64_t seconds = floor_divide(ms, 1000);
  return with_fraction(seconds, ms - seconds * 1000, 3);
}

std::string to_rfc3339_ns(std::int64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t seconds = floor_divide(nanoseconds, kSecond);
  return with_fraction(seconds, nanoseconds - seconds * kSecond, 9);
}

std::optional<SystemClock::time_point> from_rfc3339(std::string_view text) {
  const std::string whole(text.substr(0, 64));
  std::tm parts{};
  const char* rest = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) {
    return std::nullopt;
  }
  std::int64_t nanoseconds = 0;
  if (*rest == '.') {
    ++rest;
    std::int64_t unit = 100'000'000;
    for (; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) {
      nanoseconds += (*rest - '0') * unit;
    }
  }
  const bool utc = std::string_view(rest) == "Z" || std::string_view(rest) == "z";
  std::tm zone{};
  if (!utc) {
    const bool sign = *rest == '+' || *rest == '-';
    const char* end = sign ? ::strptime(rest + 1, "%H:%M", &zone) : nullptr;
    if (end == nullptr || *end != '\0') {
      return std::nullopt;
    }
  }
  const int offset = (zone.tm_hour * 60 + zone.tm_min) * 60 * (*rest == '-' ? -1 : 1);
  return SystemClock::from_time_t(::timegm(&parts) - offset) +
         std::chrono::duration_cast<SystemClock::duration>(std::chrono::nanoseconds(nanoseconds));
}

std::string to_http_date(std::int64_t seconds) {
  const std::tm parts = broken_down(seconds);
  std::array<char, 64> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), length};
}

std::optional<std::int64_t> from_http_date(std::string_view text) {
  const std::string whole(text.substr(0, 64));
  std::tm parts{};
  const char* end = ::strptime(whole.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') {
    return std::nullopt;
  }
  return ::timegm(&parts);
}

}  // namespace glovebox::e2b
