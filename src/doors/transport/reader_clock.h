// SPDX-License-Identifier: Apache-2.0
// ReaderClock: whether a peer reads its answer fast enough to keep its connection.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace glovebox::http {

struct ReaderBounds {
  std::chrono::milliseconds silence{};  // The longest wait without a byte taken.
  // Over a whole answer, all waits together may last `grace`, and a second more for each
  // `least_rate` bytes.
  std::chrono::milliseconds grace{};
  std::uint64_t least_rate = 1;
};

class ReaderClock {
 public:
  explicit ReaderClock(const ReaderBounds& bounds) : bounds_(bounds) {}

  void took(std::uint64_t bytes) { taken_ += bytes; }
  void waited(std::chrono::steady_clock::duration time) { waited_ += time; }

  // How long the next wait may be; zero or less if the peer is too slow.
  [[nodiscard]] std::chrono::milliseconds left() const {
    const std::chrono::milliseconds earned(taken_ * 1'000 / bounds_.least_rate);
    return std::min(bounds_.silence,
                    std::chrono::ceil<std::chrono::milliseconds>(bounds_.grace + earned - waited_));
  }

 private:
  ReaderBounds bounds_;
  std::uint64_t taken_ = 0;
  std::chrono::steady_clock::duration waited_{0};
};

}  // namespace glovebox::http
