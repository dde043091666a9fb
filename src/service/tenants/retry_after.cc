// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/retry_after.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace glovebox {
namespace {

using std::chrono::seconds;

constexpr std::string_view kBefore = "Try again in ";
constexpr std::string_view kAfter = " seconds.";

}  // namespace

Error exhausted(std::string message, std::chrono::nanoseconds retry_in) {
  const seconds wait = std::clamp(std::chrono::ceil<seconds>(retry_in), seconds(1), seconds(3'600));
  std::string hint(kBefore);
  hint += std::to_string(wait.count());
  hint += kAfter;
  return {ErrorCode::kExhausted, std::move(message), std::move(hint)};
}

std::optional<seconds> retry_after(const Error& error) {
  std::string_view hint = error.hint();
  if (error.code() != ErrorCode::kExhausted || !hint.starts_with(kBefore)) {
    return std::nullopt;
  }
  hint.remove_prefix(kBefore.size());
  std::int64_t count = 0;
  const char* end = hint.data() + hint.size();
  const auto [rest, failed] = std::from_chars(hint.data(), end, count);
  if (failed != std::errc() || std::string_view(rest, end) != kAfter) {
    return std::nullopt;
  }
  return seconds(count);
}

}  // namespace glovebox
