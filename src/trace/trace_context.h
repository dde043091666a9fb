// SPDX-License-Identifier: Apache-2.0
// TraceContext: which trace a span belongs to, as programs tell each other (W3C Trace Context).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace glovebox::trace {

// A value. Identifiers are hexadecimal digits in lower case, and never all zeros.
struct TraceContext {
  std::string trace_id{};  // 32 digits.
  std::string span_id{};   // 16 digits: of the caller's span.
  bool sampled = false;    // Whether the caller records its own part.
};

// Reads a "traceparent" header of any version that begins as version 00 does (W3C Trace Context,
// 3.2). Nothing for anything else: then a new trace begins.
[[nodiscard]] std::optional<TraceContext> parse_traceparent(std::string_view header);

}  // namespace glovebox::trace
