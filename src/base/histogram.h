// SPDX-License-Identifier: Apache-2.0
// Histogram: how long something took, as Prometheus' text format shows it.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glovebox {

// One thread at a time.
class Histogram {
 public:
  // Upper bounds of the buckets, in seconds; the last bucket has none.
  static constexpr std::array<double, 12> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,   0.1,   0.5,    1,     5,    30};

  void add(std::chrono::steady_clock::duration took);

  // The samples of metric `name`, without HELP and TYPE. `labels` is a="b",c="d", or empty.
  [[nodiscard]] std::string text(std::string_view name, std::string_view labels) const;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> buckets_{};
  double sum_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace glovebox
