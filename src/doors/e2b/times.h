// SPDX-License-Identifier: Apache-2.0
// Moments as RFC 3339 and RFC 9110 write them, always in UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace glovebox::e2b {

using SystemClock = std::chrono::system_clock;

// "2026-11-21T08:46:48.123Z"
std::string to_rfc3339(SystemClock::time_point moment);
// "2026-11-21T08:46:48.123456789Z", from nanoseconds since the epoch.
std::string to_rfc3339_ns(std::int64_t nanoseconds);
// A moment with a time zone ("Z" or "+01:00"); nothing for anything else.
std::optional<SystemClock::time_point> from_rfc3339(std::string_view text);

// "Sat, 21 Nov 2026 08:46:48 GMT"
std::string to_http_date(std::int64_t seconds);
std::optional<std::int64_t> from_http_date(std::string_view text);

}  // namespace glovebox::e2b
