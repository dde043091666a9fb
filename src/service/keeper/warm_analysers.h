// SPDX-License-Identifier: Apache-2.0
// WarmAnalysers: forks of an interpreter that has loaded the analysers of code, each in a sandbox
// of its own and used for one analysis. The interpreter that they are forked from never reads a
// program, so nothing of one reaches the analysis of another.
#pragma once

#include <atomic>
#include <functional>

#include "base/result.h"
#include "context/pool.h"
#include "service/keeper/pool_shelf.h"

namespace glovebox::keeper {

// Safe to use from several threads.
class WarmAnalysers {
 public:
  using Post = std::function<void(std::function<void()> job)>;

  // `post` runs a job in another thread, before either of us ends.
  WarmAnalysers(PoolShelf& pools, Post post) : pools_(pools), post_(std::move(post)) {}

  // One that nobody has used; to be given back with discard(), which ends it. kUnavailable where
  // there can be none, and until the first is ready: the first call asks for it, and never waits.
  Result<LiveContext> claim();
  void discard(LiveContext used);

 private:
  Result<std::shared_ptr<ContextPool>> pool();

  PoolShelf& pools_;
  const Post post_;
  std::atomic<bool> starting_ = false;
  std::atomic<bool> started_ = false;
};

}  // namespace glovebox::keeper
