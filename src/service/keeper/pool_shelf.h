// SPDX-License-Identifier: Apache-2.0
// PoolShelf: the pools that sandboxes come from, one for each kind that is asked for. Those of
// templates are bounded, in all and for each tenant; the one used longest ago goes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/pool.h"
#include "service/keeper/template_order.h"

namespace glovebox::keeper {

// Safe to use from several threads. While one pool starts, the others serve.
class PoolShelf {
 public:
  // The pool of that kind; makes it with what `describe` answers. One of a template that could not
  // start is not tried again: its root may have no interpreter.
  Result<std::shared_ptr<ContextPool>> get(const std::string& home,
                                           const TemplateOrder& shows,
                                           const std::function<Result<PoolSpec>()>& describe);

  // Drops that pool; what was claimed from it lives on.
  void drop(const std::string& home, const TemplateOrder& shows);

  // Drops the pools that show what is there; what was claimed from them lives on.
  void forget(std::string_view content);

 private:
  using Clock = std::chrono::steady_clock;

  struct Shelved {
    std::mutex starting;
    std::shared_ptr<ContextPool> pool;
    bool failed = false;
    std::string tenant;
    bool of_template = false;
    std::vector<UniqueFd> contents;
    std::vector<std::string> paths;
    Clock::time_point used{};
  };

  // Takes a pool of a template off the shelf if there is one too many, after one more of
  // `tenant`'s. Requires: the mutex is held.
  void make_room(const std::string& tenant, std::vector<std::shared_ptr<Shelved>>& gone);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Shelved>> shelved_;
};

}  // namespace glovebox::keeper
