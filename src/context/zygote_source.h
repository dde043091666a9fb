// SPDX-License-Identifier: Apache-2.0
// ZygoteSource: the zygote that contexts are forked from now, for all pools whose interpreters are
// the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "context/zygote.h"

namespace glovebox {

// A zygote is replaced after this many forks, or this much time: its forks share one layout of
// memory and one hash seed.
struct ZygoteWear {
  std::uint64_t forks = 10'000;
  std::chrono::minutes age{60};
};

// Safe to use from several threads.
class ZygoteSource {
 public:
  // Called with a sentence when a zygote has died, from any thread. May be empty.
  using Tell = std::function<void(std::string_view line)>;

  ZygoteSource(ZygoteSpec spec, ZygoteWear wear, Tell tell)
      : spec_(std::move(spec)), wear_(wear), tell_(std::move(tell)) {}

  // The present zygote, or a new one if there is none, or it is worn or has died. Waits while one
  // starts: seconds. Errors: those of Zygote::start().
  Result<std::shared_ptr<Zygote>> get();

  // As in Zygote, for the present one. Neither waits: while a zygote starts, nothing is done.
  void end_hoarders();
  void end_idle(std::chrono::steady_clock::duration idle);

 private:
  using Clock = std::chrono::steady_clock;

  const ZygoteSpec spec_;
  const ZygoteWear wear_;
  const Tell tell_;
  std::mutex mutex_;  // Of what follows; held while one starts.
  std::shared_ptr<Zygote> zygote_;
  Clock::time_point started_{};
};

}  // namespace glovebox
