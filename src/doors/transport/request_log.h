// SPDX-License-Identifier: Apache-2.0
// RequestLog: what has been asked of all doors, as metrics in Prometheus' text format, as lines of
// an access log, and as the first spans of traces.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/histogram.h"
#include "doors/transport/http.h"
#include "trace/tracer.h"

namespace glovebox::http {

// Safe to use from several threads.
class RequestLog {
 public:
  // `line` gets one JSON object of bounded size for each request, from any thread. Empty: no log.
  // The tracer, if any, outlives it.
  explicit RequestLog(std::function<void(std::string_view line)> line,
                      trace::Tracer* tracer = nullptr)
      : line_(std::move(line)), tracer_(tracer) {}
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  // Has `serve` answer the request, and counts and logs it by Request::facts() once `serve` has
  // returned. What is then left to the server's loop (a relay, an answer of pieces) is not waited
  // for.
  void watch(Request& request,
             Response& response,
             const std::function<void(Response& response)>& serve);

  // The metrics. Their number is bounded by the number of routes and of statuses.
  [[nodiscard]] std::string text() const;

 private:
  struct Key {
    std::string_view door;
    std::string_view method;
    std::string route;
    auto operator<=>(const Key&) const = default;
  };

  void count(const RequestFacts& facts,
             std::string_view method,
             int status,
             std::chrono::steady_clock::duration took);

  const std::function<void(std::string_view line)> line_;
  trace::Tracer* const tracer_;
  mutable std::mutex mutex_;
  std::map<Key, std::map<int, std::uint64_t>> requests_;
  std::map<Key, Histogram> durations_;
  std::atomic<std::uint64_t> sent_bytes_{0};
  std::atomic<std::uint64_t> refused_keys_{0};
  std::atomic<std::int64_t> in_flight_{0};
};

}  // namespace glovebox::http
