// SPDX-License-Identifier: Apache-2.0
// Our end of the machine's own port (microvm/protocol.h): its limits, and what it counts.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/meter.h"
#include "sandbox/microvm/protocol.h"
#include "spec/limits.h"

namespace glovebox::microvm {

// Any thread may use it. A machine's answers are believed as far as they concern the machine
// itself; one that does not answer in time is not asked again, and the counts stay as they were.
class Port final : public Meter {
 public:
  explicit Port(UniqueFd socket) : socket_(std::move(socket)) {}

  // Does not wait: the order fits into the socket.
  Result<void> order(const Order& order);
  Result<void> change_limits(const Limits& limits);
  // Gives a saved machine the time and the seed of the order. Waits until it has them.
  Result<void> renew(const Order& order);
  // While the lock is held, nothing is on its way to the machine or from it.
  [[nodiscard]] std::unique_lock<std::mutex> quiet() const { return std::unique_lock(mutex_); }

  [[nodiscard]] std::optional<std::chrono::microseconds> cpu_time() const override;
  [[nodiscard]] std::optional<Bytes> memory_peak() const override;
  [[nodiscard]] std::optional<Bytes> memory_now() const override;
  [[nodiscard]] std::optional<std::uint64_t> pids_peak() const override;
  [[nodiscard]] std::optional<std::uint64_t> pids_now() const override;
  [[nodiscard]] std::uint64_t oom_kills() const override;
  [[nodiscard]] std::uint64_t pids_refusals() const override;
  void reclaim() const override {}

 private:
  [[nodiscard]] std::uint64_t count(Count which) const;
  [[nodiscard]] bool ask() const;
  bool receive(char* bytes, std::size_t size, std::chrono::seconds patience) const;

  mutable std::mutex mutex_;
  mutable UniqueFd socket_;
  mutable Counts counts_{};
};

}  // namespace glovebox::microvm
