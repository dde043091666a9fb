// SPDX-License-Identifier: Apache-2.0
// Keeper: all living sandboxes, the pools that they come from, and the end of those whose time is
// over.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "context/pool.h"
#include "language/registry.h"
#include "service/keeper/held_sandbox.h"

namespace glovebox::keeper {

// What a sandbox is made of, when it is made.
struct CreateOrder {
  std::string home{kWorkspace};
  std::string user = "guest";
  Limits limits;
  Environment env;
  TierWish tier;
  Lifetime lifetime;
};

struct KeeperOptions {
  std::size_t least_ready = 2;  // Sandboxes that wait, for each kind that is asked for.
  std::size_t most_ready = 32;
};

// Safe to use from several threads.
class Keeper {
 public:
  static Result<std::unique_ptr<Keeper>> start(KeeperOptions options);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();  // Ends every sandbox.

  Result<std::shared_ptr<HeldSandbox>> create(const CreateOrder& order);
  Result<std::shared_ptr<HeldSandbox>> find(std::string_view id);
  [[nodiscard]] std::vector<std::shared_ptr<HeldSandbox>> all();
  Result<void> kill(std::string_view id);
  // Answers how many there were.
  std::size_t kill_all();

  // Asks for the end of all of this; stop_fd() becomes readable.
  void stop();
  [[nodiscard]] int stop_fd() const { return stop_.get(); }

  [[nodiscard]] const Registry& registry() const { return registry_; }

 private:
  Keeper(KeeperOptions options, Registry registry);
  Result<SandboxSpec> spec_of(const CreateOrder& order);
  Result<std::shared_ptr<ContextPool>> pool(const CreateOrder& order);
  Result<std::shared_ptr<HeldSandbox>> make(const CreateOrder& order);
  void watch();
  void end_overdue();

  const KeeperOptions options_;
  const Registry registry_;
  const UniqueFd stop_;

  std::mutex pools_mutex_;
  std::map<std::string, std::shared_ptr<ContextPool>> pools_;  // By home directory.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<HeldSandbox>, std::less<>> sandboxes_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace glovebox::keeper
