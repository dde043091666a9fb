// SPDX-License-Identifier: Apache-2.0
// Tracer: collects spans and has them sent in batches, without anybody waiting for that.
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
  // Called in the tracer's thread alone; may block as long as a shutdown may wait.
  using Send = std::function<Outcome(const std::vector<SpanRecord>& batch)>;

  struct Options {
    double ratio = 1;                           // Of the traces that begin here, those recorded.
    std::size_t most_waiting = 8'192;           // Spans; beyond, new ones are left out.
    std::size_t batch = 512;                    // Spans.
    std::chrono::milliseconds every{2'000};     // How long a span waits for others at most.
    std::chrono::milliseconds patience{1'000};  // Before a batch is sent again; doubled each time,
    std::chrono::milliseconds longest{30'000};  // up to this.
  };

  Tracer(const Options& options, Send send);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();  // Sends what waits, each batch once.

  // Whether a trace that begins here is to be recorded.
  [[nodiscard]] bool samples() const;
  void take(SpanRecord span);

  // Since it began, in spans.
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
