// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_context.h"

#include <algorithm>

#include "base/hex.h"

namespace glovebox::trace {
namespace {

// "VV-", 32 digits, "-", 16 digits, "-FF".
constexpr std::size_t kLength = 55;

bool is_id(std::string_view text) {
  return is_hex(text) && std::ranges::any_of(text, [](char digit) { return digit != '0'; });
}

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view header) {
  if (header.size() < kLength) {
    return std::nullopt;
  }
  const std::string_view version = header.substr(0, 2);
  const std::string_view trace_id = header.substr(3, 32);
  const std::string_view span_id = header.substr(36, 16);
  const std::string_view flags = header.substr(53, 2);
  const bool longer = header.size() > kLength;
  if (!is_hex(version) || version == "ff" || header[2] != '-' || header[35] != '-' ||
      header[52] != '-' || !is_id(trace_id) || !is_id(span_id) || !is_hex(flags) ||
      (longer && (version == "00" || header[kLength] != '-'))) {
    return std::nullopt;
  }
  const std::string bits = *from_hex(flags);
  return TraceContext{.trace_id = std::string(trace_id),
                      .span_id = std::string(span_id),
                      .sampled = (static_cast<unsigned char>(bits[0]) & 1U) != 0};
}

}  // namespace glovebox::trace
