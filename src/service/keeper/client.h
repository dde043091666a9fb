// SPDX-License-Identifier: Apache-2.0
// KeeperClient: the daemon's end of the keeper's calls.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/wire.h"

namespace glovebox::keeper {

// Safe to use from any thread; each call in progress has a connection of its own.
class KeeperClient {
 public:
  explicit KeeperClient(std::string socket_path) : path_(std::move(socket_path)) {}

  // What comes before the answer; empty once a second while nothing comes. False ends the call,
  // which then fails with kUnavailable; the keeper goes on with what it does.
  using OnEvent = std::function<bool(std::string_view event)>;

  // kUnavailable when the keeper is gone.
  Result<nlohmann::json> call(std::string_view name,
                              nlohmann::json arguments,
                              const OnEvent& on_event = {},
                              std::vector<UniqueFd>* passed = nullptr);

 private:
  Result<std::unique_ptr<KeeperWire>> borrow();
  void give_back(std::unique_ptr<KeeperWire> wire);

  const std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<KeeperWire>> idle_;
};

}  // namespace glovebox::keeper
