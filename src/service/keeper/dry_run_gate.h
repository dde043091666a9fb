// SPDX-License-Identifier: Apache-2.0
// DryRunGate: who may change a sandbox: everybody, or one dry run alone until it is decided.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace glovebox::keeper {

// Safe to use from several threads; must outlive each Pass.
class DryRunGate {
 public:
  using Clock = std::chrono::steady_clock;

  // Held while something may be changed.
  class Pass {
   public:
    explicit Pass(DryRunGate* gate) : gate_(gate) {}
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) {
        gate_->leave();
      }
    }

   private:
    DryRunGate* gate_;
  };

  // Why this sandbox can have no dry runs, from now on. Empty: it can.
  void forbid(std::string reason);

  // kConflict while there is a dry run. Never waits.
  Result<Pass> enter();

  // Begins a dry run of this context; returns its name. kConflict while somebody has a pass, or
  // there is another dry run; kUnsupported if they are forbidden.
  Result<std::string> close(std::string_view context);
  // The dry run waits for a decision until `deadline`; `told` is what it has changed, as JSON.
  void await_decision(std::string told, Clock::time_point deadline);
  void open();

  struct Closed {
    std::string id;
    std::string context;
    std::string told{};  // Empty: it is executing.
    Clock::time_point deadline = Clock::time_point::max();
  };
  [[nodiscard]] std::optional<Closed> closed() const;

 private:
  void leave();

  mutable std::mutex mutex_;
  std::string forbidden_;
  std::optional<Closed> closed_;
  std::size_t passes_ = 0;
  std::size_t next_ = 1;
};

}  // namespace glovebox::keeper
