// SPDX-License-Identifier: Apache-2.0
// Tracer: collects spans and sends them in batches, while nobody waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/span.h"

namespace glovebox::trace {

// Safe to use from any thread.
class Tracer {
 public:
  enum class Outcome : std::uint8_t {
    kSent,
    kLater,    // The collector is away, or busy: the same batch is sent again.
    kRefused,  // It will never take this batch.
  };
  // Called only in the tracer's thread; may block for as long as a shutdown may wait.
  using Send = std::function<Outcome(const std::vector<SpanRecord>& batch)>;

  struct Options {
    double ratio = 1;                           // The share of the traces begun here to record.
    std::size_t most_waiting = 8'192;           // Spans; beyond that, new ones are left out.
    std::size_t batch = 512;                    // Spans.
    std::chrono::milliseconds every{2'000};     // The longest that a span waits for others.
    std::chrono::milliseconds patience{1'000};  // Until a batch is sent again; doubled each time,
    std::chrono::milliseconds longest{30'000};  // up to this.
  };

  Tracer(const Options& options, Send send);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();  // Sends the waiting spans, each batch once.

  // Whether to record a trace that begins here.
  [[nodiscard]] bool samples() const;
  void take(SpanRecord span);

  // In spans, since the tracer was made.
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t left_out = 0;  // Refused by the collector, or too many waited.
  };
  [[nodiscard]] Counts counts() const;

 private:
  void loop();

  const Options options_;
  const Send send_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<SpanRecord> waiting_;
  Counts counts_;
  bool stopping_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace glovebox::trace
