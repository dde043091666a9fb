// SPDX-License-Identifier: Apache-2.0
// Samples and what is told of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

namespace glovebox::bench {

using Clock = std::chrono::steady_clock;

inline double micros_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

inline double mean_of(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

// Nearest rank: the smallest sample that `part` of all samples do not exceed.
inline double percentile(const std::vector<double>& sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// As a member of a JSON object that has members already.
inline void print_statistics(const char* name, std::vector<double> samples) {
  if (samples.empty()) {
    return;
  }
  std::ranges::sort(samples);
  std::printf(R"(,"%s":{"least":%.1f,"p50":%.1f,"p95":%.1f,"p99":%.1f,"mean":%.1f})", name,
              samples.front(), percentile(samples, 0.50), percentile(samples, 0.95),
              percentile(samples, 0.99), mean_of(samples));
}

}  // namespace glovebox::bench
