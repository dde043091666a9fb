// SPDX-License-Identifier: Apache-2.0
// PoolShelf: the pools that sandboxes come from, one for each kind that is asked for. Pools of
// templates are limited, in total and for each tenant; the one used longest ago goes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/pool.h"
#include "context/zygote_source.h"
#include "service/keeper/template_order.h"

namespace glovebox::keeper {

// What sandboxes of one pool have in common.
struct PoolKind {
  const std::string& home;
  const TemplateOrder& shows;
  std::string tier{};    // Empty: that of realms.
  bool network = false;  // There is room for a proxy (service/network/egress.h).
};

// Safe to use from several threads. While one pool starts, the others serve.
class PoolShelf {
 public:
  // What happened to which pool, in two pieces of a sentence; from any thread.
  using Tell = std::function<void(const std::string& pool, std::string_view what)>;

  explicit PoolShelf(Tell tell) : tell_(std::move(tell)) {}

  // The pool of that kind; makes it with what `describe` returns. A pool that could not start is
  // tried again after a while, which grows: a template's root may have no interpreter. Until then,
  // fails at once with kUnavailable.
  Result<std::shared_ptr<ContextPool>> get(const PoolKind& kind,
                                           const std::function<Result<PoolSpec>()>& describe);

  struct Figures {
    std::string home;
    std::string tier;  // As PoolKind's.
    bool of_template = false;
    ContextPool::Depth depth;
  };
  // Of all pools, including those that have not started.
  [[nodiscard]] std::vector<Figures> figures();
  // As Sandbox's, for the realms of all pools.
  void end_hoarders();
  // How often a pool could not be started.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

  // Drops that pool; what was claimed from it lives on.
  void drop(const PoolKind& kind);

  // Drops the pools that show the content at this path; what was claimed from them lives on.
  void forget(std::string_view content);

 private:
  using Clock = std::chrono::steady_clock;

  struct Shelved {
    std::mutex starting;
    // Set with `starting` and the shelf's mutex held; either is enough to read it.
    std::shared_ptr<ContextPool> pool;
    std::chrono::seconds pause{0};  // After the last failure; `retry` is when it is over.
    Clock::time_point retry{};
    std::string home;
    std::string tier;
    std::string tenant;
    bool of_template = false;
    std::vector<UniqueFd> contents;
    std::vector<std::string> paths;
    Clock::time_point used{};
  };

  // Starts the pool, for the first time or once more. Requires: `starting` is held.
  Result<std::shared_ptr<ContextPool>> start(Shelved& shelved,
                                             const PoolKind& kind,
                                             const std::function<Result<PoolSpec>()>& describe);
  // Shared by all pools that differ only in home and network: an interpreter that has run nothing
  // yet is the same for them.
  std::shared_ptr<ZygoteSource> source_for(const PoolKind& kind, const PoolSpec& spec);
  // Takes a pool of a template off the shelf if one more of `tenant`'s was one too many. Requires:
  // the mutex is held.
  void make_room(const std::string& tenant, std::vector<std::shared_ptr<Shelved>>& gone);

  const Tell tell_;
  std::atomic<std::uint64_t> failures_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Shelved>> shelved_;
  std::map<std::string, std::weak_ptr<ZygoteSource>> sources_;  // As long as a pool has them.
};

}  // namespace glovebox::keeper
