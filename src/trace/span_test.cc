// SPDX-License-Identifier: Apache-2.0
#include "trace/span.h"

#include <gtest/gtest.h>

#include "trace/tracer.h"

namespace glovebox::trace {
namespace {

using namespace std::chrono_literals;

// The spans of what `act` does, in the order in which they ended.
std::vector<SpanRecord> spans_of(const std::function<void(Tracer& tracer)>& act, double ratio = 1) {
  std::vector<SpanRecord> all;
  {
    Tracer tracer({.ratio = ratio}, [&](const std::vector<SpanRecord>& batch) {
      all.insert(all.end(), batch.begin(), batch.end());
      return Tracer::Outcome::kSent;
    });
    act(tracer);
  }
  return all;
}

TEST(Spans, BelongToTheOneThatTheirThreadHasBegunLast) {
  const auto spans = spans_of([](Tracer& tracer) {
    const Span request(&tracer, std::nullopt, "request", SpanKind::kServer);
    {
      const Span call("call", SpanKind::kClient);
      const Span within("within");
    }
    const Span after("after");
  });
  ASSERT_EQ(spans.size(), 4);
  EXPECT_EQ(spans[0].name, "within");
  EXPECT_EQ(spans[1].name, "call");
  EXPECT_EQ(spans[2].name, "after");
  EXPECT_EQ(spans[3].name, "request");
  EXPECT_EQ(spans[0].parent_id, spans[1].span_id);
  EXPECT_EQ(spans[1].parent_id, spans[3].span_id);
  EXPECT_EQ(spans[2].parent_id, spans[3].span_id);
  EXPECT_EQ(spans[3].parent_id, "");
  for (const SpanRecord& span : spans) {
    EXPECT_EQ(span.trace_id, spans[3].trace_id);
    EXPECT_EQ(span.span_id.size(), 16);
    EXPECT_GE(span.took, 0ns);
  }
  EXPECT_EQ(spans[3].trace_id.size(), 32);
}

TEST(Spans, ContinueTheTraceOfTheCaller) {
  const TraceContext caller{.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
                            .span_id = "00f067aa0ba902b7",
                            .sampled = true};
  const auto spans = spans_of(
      [&](Tracer& tracer) { const Span request(&tracer, caller, "request", SpanKind::kServer); },
      0);
  ASSERT_EQ(spans.size(), 1);
  EXPECT_EQ(spans[0].trace_id, caller.trace_id);
  EXPECT_EQ(spans[0].parent_id, caller.span_id);
}

TEST(Spans, AreNotRecordedWhereTheirTraceIsNot) {
  const TraceContext caller{.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
                            .span_id = "00f067aa0ba902b7"};
  EXPECT_TRUE(spans_of([&](Tracer& tracer) {
                const Span request(&tracer, caller, "request", SpanKind::kServer);
                Span call("call");
                call.set("name", "value");
                EXPECT_FALSE(call);
              }).empty());
  EXPECT_TRUE(spans_of(
                  [](Tracer& tracer) {
                    const Span request(&tracer, std::nullopt, "request", SpanKind::kServer);
                  },
                  0)
                  .empty());
  Span alone("alone");
  EXPECT_FALSE(alone);
  const Span without(nullptr, std::nullopt, "without", SpanKind::kServer);
  EXPECT_FALSE(without);
}

TEST(Spans, HaveStepsOneAfterTheOther) {
  const auto spans = spans_of([](Tracer& tracer) {
    Span request(&tracer, std::nullopt, "request", SpanKind::kServer);
    request.add_steps({{"first", 2ms}, {"second", 3ms}});
  });
  ASSERT_EQ(spans.size(), 3);
  EXPECT_EQ(spans[0].start, spans[2].start);
  EXPECT_EQ(spans[1].start, spans[2].start + 2ms);
  EXPECT_EQ(spans[1].took, 3ms);
  EXPECT_EQ(spans[1].parent_id, spans[2].span_id);
}

TEST(Spans, AreBoundedWhateverIsSaidOfThem) {
  const auto spans = spans_of([](Tracer& tracer) {
    Span request(&tracer, std::nullopt, "request", SpanKind::kServer);
    for (int i = 0; i < 1'000; ++i) {
      request.set("name", std::string(10'000, 'a'));
    }
    request.fail(std::string(10'000, 'b'));
    request.add_steps(std::vector<Span::Step>(1'000, {std::string(10'000, 'c'), 1us}));
  });
  ASSERT_EQ(spans.size(), 65);
  EXPECT_EQ(spans.back().attributes.size(), 64);
  EXPECT_EQ(std::get<std::string>(spans.back().attributes[0].second).size(), 256);
  EXPECT_EQ(spans.back().failure->size(), 256);
  EXPECT_EQ(spans[0].name.size(), 256);
}

}  // namespace
}  // namespace glovebox::trace
