// SPDX-License-Identifier: Apache-2.0
#include "trace/span.h"

#include "base/random.h"
#include "trace/tracer.h"

namespace glovebox::trace {
namespace {

// Per span: clients and guests choose some of them.
constexpr std::size_t kMostAttributes = 64;
constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kLongestText = 256;

std::string cut(std::string_view text) { return std::string(text.substr(0, kLongestText)); }

}  // namespace

struct Span::Open {
  Tracer& tracer;
  Open* above;
  std::chrono::steady_clock::time_point since;
  SpanRecord record{};
};

thread_local Span::Open* Span::innermost_ = nullptr;

Span::Span(Tracer* tracer,
           const std::optional<TraceContext>& caller,
           std::string name,
           SpanKind kind) {
  if (tracer == nullptr || !(caller ? caller->sampled : tracer->samples())) {
    return;
  }
  open_.reset(
      new Open{.tracer = *tracer, .above = innermost_, .since = std::chrono::steady_clock::now()});
  open_->record.trace_id = caller ? caller->trace_id : random_hex(16);
  open_->record.parent_id = caller ? caller->span_id : "";
  begin(std::move(name), kind);
}

Span::Span(std::string_view name, SpanKind kind) {
  Open* const above = innermost_;
  if (above == nullptr) {
    return;
  }
  open_.reset(
      new Open{.tracer = above->tracer, .above = above, .since = std::chrono::steady_clock::now()});
  open_->record.trace_id = above->record.trace_id;
  open_->record.parent_id = above->record.span_id;
  begin(std::string(name), kind);
}

void Span::begin(std::string name, SpanKind kind) {
  open_->record.span_id = random_hex(8);
  open_->record.name = std::move(name);
  open_->record.kind = kind;
  open_->record.start = std::chrono::system_clock::now();
  innermost_ = open_.get();
}

Span::~Span() {
  if (open_) {
    innermost_ = open_->above;
    open_->record.took = std::chrono::steady_clock::now() - open_->since;
    open_->tracer.take(std::move(open_->record));
  }
}

void Span::rename(std::string name) {
  if (open_) {
    open_->record.name = std::move(name);
  }
}

void Span::set(std::string_view name, AttributeValue value) {
  if (!open_ || open_->record.attributes.size() >= kMostAttributes) {
    return;
  }
  if (auto* const text = std::get_if<std::string>(&value)) {
    *text = cut(*text);
  }
  open_->record.attributes.emplace_back(name, std::move(value));
}

void Span::fail(std::string_view message) {
  if (open_) {
    open_->record.failure = cut(message);
  }
}

void Span::add_steps(const std::vector<Step>& steps) {
  if (!open_) {
    return;
  }
  auto start = open_->record.start;
  for (std::size_t i = 0; i < steps.size() && i < kMostSteps; ++i) {
    SpanRecord record{.trace_id = open_->record.trace_id,
                      .span_id = random_hex(8),
                      .parent_id = open_->record.span_id,
                      .name = cut(steps[i].first),
                      .start = start,
                      .took = steps[i].second};
    start += std::chrono::duration_cast<std::chrono::system_clock::duration>(steps[i].second);
    open_->tracer.take(std::move(record));
  }
}

std::string_view Span::trace_id() const {
  return open_ ? std::string_view(open_->record.trace_id) : std::string_view();
}

}  // namespace glovebox::trace
