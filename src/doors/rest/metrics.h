// SPDX-License-Identifier: Apache-2.0
// Metrics of the REST door in Prometheus' text format.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox::rest {

// Safe to use from several threads.
class Metrics {
 public:
  // `route` is a pattern of ours, never a path: there are only so many.
  void count(std::string_view method,
             std::string_view route,
             int status,
             std::chrono::steady_clock::duration took);
  void count_refused_key() { ++refused_keys_; }

  class InFlight {
   public:
    explicit InFlight(Metrics& metrics) : metrics_(metrics) { ++metrics_.in_flight_; }
    ~InFlight() { --metrics_.in_flight_; }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

   private:
    Metrics& metrics_;
  };

  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::array<double, 12> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,   0.1,   0.5,    1,     5,    30};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size() + 1> buckets{};
    double sum = 0;
    std::uint64_t count = 0;
  };
  struct Key {
    std::string method;
    std::string route;
    auto operator<=>(const Key&) const = default;
  };

  mutable std::mutex mutex_;
  std::map<Key, std::map<int, std::uint64_t>> requests_;
  std::map<Key, Histogram> durations_;
  std::atomic<std::uint64_t> refused_keys_{0};
  std::atomic<std::int64_t> in_flight_{0};
};

}  // namespace glovebox::rest
