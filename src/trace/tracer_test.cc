// SPDX-License-Identifier: Apache-2.0
#include "trace/tracer.h"

#include <gtest/gtest.h>

#include <future>

namespace glovebox::trace {
namespace {

using namespace std::chrono_literals;

SpanRecord named(std::string name) { return {.name = std::move(name)}; }

TEST(Tracer, SendsABatchAgainUntilItIsTaken) {
  std::promise<std::vector<std::string>> sent;
  std::vector<std::string> tries;
  Tracer tracer({.every = 1ms, .patience = 1ms, .longest = 2ms},
                [&](const std::vector<SpanRecord>& batch) {
                  tries.push_back(batch[0].name);
                  if (tries.size() < 4) {
                    return Tracer::Outcome::kLater;
                  }
                  sent.set_value(tries);
                  return Tracer::Outcome::kSent;
                });
  tracer.take(named("span"));
  EXPECT_EQ(sent.get_future().get(), std::vector<std::string>(4, "span"));
}

TEST(Tracer, LeavesOutWhatTheCollectorRefusesAndWhatIsTooMuch) {
  std::promise<void> asked;
  std::promise<void> go_on;
  std::vector<std::size_t> batches;
  Tracer::Counts counts;
  {
    Tracer tracer({.most_waiting = 3, .batch = 2, .every = 1ms},
                  [&](const std::vector<SpanRecord>& batch) {
                    batches.push_back(batch.size());
                    if (batches.size() > 1) {
                      return Tracer::Outcome::kSent;
                    }
                    asked.set_value();
                    go_on.get_future().wait();
                    return Tracer::Outcome::kRefused;
                  });
    tracer.take(named("1"));
    tracer.take(named("2"));
    asked.get_future().wait();
    // The first two wait until their end is known.
    tracer.take(named("3"));
    tracer.take(named("4"));
    counts = tracer.counts();
    go_on.set_value();
  }
  EXPECT_EQ(counts.left_out, 1);
  EXPECT_EQ(batches.size(), 2);
}

TEST(Tracer, SendsWhatWaitsWhenItEndsAndDoesNotWaitForACollectorThatIsAway) {
  std::size_t tries = 0;
  const auto since = std::chrono::steady_clock::now();
  {
    Tracer tracer({.batch = 2, .every = 1h, .patience = 1h, .longest = 1h},
                  [&](const std::vector<SpanRecord>&) {
                    ++tries;
                    return Tracer::Outcome::kLater;
                  });
    tracer.take(named("1"));
  }
  EXPECT_EQ(tries, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - since, 30min);
}

}  // namespace
}  // namespace glovebox::trace
