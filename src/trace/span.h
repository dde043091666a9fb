// SPDX-License-Identifier: Apache-2.0
// Span: how long one part of a request took, for trace collectors (OpenTelemetry).
//
// A request's span begins where the request arrives. Until it ends, any code in the same thread can
// begin spans below it, without being handed anything; with no trace under way, that costs a
// comparison.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "trace/trace_context.h"

namespace glovebox::trace {

class Tracer;

// As the protocol counts them (opentelemetry/proto/trace/v1/trace.proto).
enum class SpanKind : std::uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

using AttributeValue = std::variant<std::string, std::int64_t>;

// A span that has ended. A value.
struct SpanRecord {
  std::string trace_id{};
  std::string span_id{};
  std::string parent_id{};  // Empty: the first of its trace.
  std::string name{};
  SpanKind kind = SpanKind::kInternal;
  std::chrono::system_clock::time_point start{};
  std::chrono::nanoseconds took{0};
  std::vector<std::pair<std::string, AttributeValue>> attributes{};
  std::optional<std::string> failure{};  // The message of what failed; may be empty.
};

// For one thread. Spans end in the reverse order of their beginnings.
class Span {
 public:
  // A step, and how long it took.
  using Step = std::pair<std::string, std::chrono::nanoseconds>;

  // The first span in this thread, of the caller's trace or of a new one. Does nothing without a
  // tracer, or if the trace is not recorded. The tracer outlives it.
  Span(Tracer* tracer, const std::optional<TraceContext>& caller, std::string name, SpanKind kind);
  // A span below the one that this thread has begun last, if any.
  explicit Span(std::string_view name, SpanKind kind = SpanKind::kInternal);
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span();

  // Whether the span is recorded: if not, callers need not find out values for attributes.
  explicit operator bool() const { return open_ != nullptr; }

  void rename(std::string name);
  void set(std::string_view name, AttributeValue value);
  void fail(std::string_view message);
  // Adds spans below this one that were measured elsewhere, one after the other from its beginning.
  void add_steps(const std::vector<Step>& steps);

  [[nodiscard]] std::string_view trace_id() const;  // Empty if it is not recorded.

 private:
  struct Open;
  void begin(std::string name, SpanKind kind);

  static thread_local Open* innermost_;  // The span that this thread has begun last.
  std::unique_ptr<Open> open_;
};

}  // namespace glovebox::trace
