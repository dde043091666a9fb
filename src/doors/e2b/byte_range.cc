// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/byte_range.h"

#include <algorithm>
#include <charconv>

namespace glovebox::e2b {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                    : std::nullopt;
}

}  // namespace

RangeWish parse_range(std::string_view header, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const RangeWish whole{.kind = RangeKind::kWhole, .range = {.first = 0, .length = size}};
  if (!header.starts_with(kUnit)) {
    return whole;
  }
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) {
    return whole;
  }
  const std::string_view from = header.substr(0, dash);
  const std::string_view to = header.substr(dash + 1);
  const auto first = number(from);
  const auto last = number(to);
  if ((!from.empty() && !first) || (!to.empty() && !last) || (from.empty() && to.empty())) {
    return whole;
  }
  const RangeWish unsatisfiable{.kind = RangeKind::kUnsatisfiable, .range = {}};
  if (from.empty()) {
    const std::uint64_t count = std::min(*last, size);
    if (count == 0) {
      return unsatisfiable;
    }
    return {.kind = RangeKind::kPart, .range = {.first = size - count, .length = count}};
  }
  if (last && *last < *first) {
    return whole;
  }
  if (*first >= size) {
    return unsatisfiable;
  }
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {.kind = RangeKind::kPart, .range = {.first = *first, .length = end - *first + 1}};
}

}  // namespace glovebox::e2b
