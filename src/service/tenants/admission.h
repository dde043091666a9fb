// SPDX-License-Identifier: Apache-2.0
// Admission: a slot to execute in, given to tenants in turn, or a refusal that says when to come
// back. Never a queue without an end, and nothing new while the machine is short of memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/tenants/fair_queue.h"
#include "service/tenants/memory_pressure.h"

namespace glovebox {

namespace detail {
class AdmissionDesk;
}

// A slot, given back at its end. It may outlive the Admission.
class [[nodiscard]] ExecutionLease {
 public:
  ExecutionLease() = default;  // Holds no slot.
  ExecutionLease(ExecutionLease&& other) noexcept = default;
  ExecutionLease& operator=(ExecutionLease&& other) noexcept;
  ExecutionLease(const ExecutionLease&) = delete;
  ExecutionLease& operator=(const ExecutionLease&) = delete;
  ~ExecutionLease();

 private:
  friend class Admission;
  ExecutionLease(std::shared_ptr<detail::AdmissionDesk> desk, FairQueue::Ticket ticket)
      : desk_(std::move(desk)), ticket_(ticket) {}
  std::shared_ptr<detail::AdmissionDesk> desk_;
  FairQueue::Ticket ticket_ = 0;
};

// Safe to use from any thread.
class Admission {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `clock` measures how long slots are held, for the hint; a wait ends by the real clock.
  // `pressure` must outlive it.
  Admission(FairQueue::Bounds bounds, MemoryPressure& pressure, Clock clock);

  // Waits for a slot, at most `most_wait`. kExhausted, with the seconds to wait
  // (Error::retry_after), when none came, when too many wait, or under memory pressure.
  Result<ExecutionLease> enter(std::string_view tenant,
                               std::size_t most_of_tenant,
                               std::chrono::milliseconds most_wait);

  struct Load {
    std::size_t running = 0;
    std::size_t waiting = 0;
  };
  [[nodiscard]] Load load() const;

 private:
  MemoryPressure& pressure_;
  std::shared_ptr<detail::AdmissionDesk> desk_;
};

}  // namespace glovebox
