// SPDX-License-Identifier: Apache-2.0
// Delivery: the events of an execution on their way to a caller, who may be slow.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "context/context.h"
#include "service/keeper/execution_log.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {

// One thread. If the caller is gone, it is not told, and nothing else happens: what runs continues.
class Delivery : public Outlet {
 public:
  Delivery(std::shared_ptr<ExecutionLog> log, KeeperWire& wire)
      : reader_(std::move(log)), wire_(wire) {}

  [[nodiscard]] bool full() const override;
  [[nodiscard]] int waits_for() const override;
  void pass_on() override;

  // Delivers the rest, and waits for what is yet to come, until the log ends or `listens` says no.
  // Fails when the log has no verdict.
  Result<void> finish(const std::function<bool()>& listens);

 private:
  // How far the caller may be behind before the guest is held up.
  static constexpr std::size_t kMostBehind = 1UL << 20;
  // What goes in one write.
  static constexpr std::size_t kPiece = 64UL << 10;

  // Offers what is there, up to one piece.
  void offer_some();
  void offer(const ExecutionLog::Next& next);

  ExecutionLog::Reader reader_;
  KeeperWire& wire_;
  bool gone_ = false;
};

}  // namespace glovebox::keeper
