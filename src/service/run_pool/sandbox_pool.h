// SPDX-License-Identifier: Apache-2.0
// SandboxPool: empty sandboxes made ahead of demand, which other processes of the same user take
// over: what `glovebox pool` keeps for `glovebox run`.
//
// Each is used once, by one process, which speaks with its warden directly; the pool ends it when
// that process is done or dead. Which kinds are made, that is with which mounts and limits, follows
// from what is asked for. A process whose sandboxes would be others
// (service/run_pool/surroundings.h) gets none, and makes its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/sandbox.h"

namespace glovebox {

class SandboxPool {
 public:
  // That wait, of all kinds together.
  static constexpr std::size_t kMostSandboxes = 64;

  // The user's only pool: fails with kConflict while there is another. Of each kind `size` are to
  // wait. Makes a first sandbox, so that what hinders it is known at once.
  static Result<std::unique_ptr<SandboxPool>> open(std::size_t size);

  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;
  ~SandboxPool();  // Ends all that it made, lent or not.

  // Lends until `stop_fd` has something to read, and then waits until what is lent has come back;
  // when there is something to read once more it waits no longer. `full` is called, from another
  // thread, each time when all are made.
  Result<void> serve(int stop_fd, const std::function<void()>& full);

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    std::unique_ptr<Sandbox> sandbox;
    Clock::time_point made;
  };
  struct Kind {
    SandboxSpec spec;
    std::deque<Waiting> ready;
    Clock::time_point asked;  // The last time.
    bool kept = false;        // Also when nobody asks.
  };
  struct Borrower {
    UniqueFd socket;
    std::unique_ptr<Sandbox> sandbox;  // None before it has asked.
  };
  // What to do next; `kind` for kMake.
  struct Work {
    enum class What { kMake, kEnd, kWait } what;
    std::shared_ptr<Kind> kind;
  };

  SandboxPool(std::size_t size, std::string own_surroundings, UniqueFd lock, UniqueFd listening)
      : size_(size),
        surroundings_(std::move(own_surroundings)),
        lock_(std::move(lock)),
        listening_(std::move(listening)) {}

  // Of the serving thread.
  void welcome();
  void close_door();
  bool attend(Borrower& borrower);
  std::unique_ptr<Sandbox> take(const std::string& kind);

  void work(const std::function<void()>& full);
  // These with the lock held.
  Result<void> learn(const std::string& kind, Clock::time_point now);
  void forget(std::map<std::string, std::shared_ptr<Kind>>::iterator kind);
  void renew(Clock::time_point now);
  Work choose(Clock::time_point now);
  [[nodiscard]] bool is_full() const;

  const std::size_t size_;
  const std::string surroundings_;
  const UniqueFd lock_;
  UniqueFd listening_;
  std::vector<Borrower> borrowers_;
  bool crowded_ = false;  // No descriptor for one more.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Kind>> kinds_;
  std::deque<std::unique_ptr<Sandbox>> used_;
  Clock::time_point last_claim_{};
  Clock::time_point not_before_{};  // After a failure.
  bool stopping_ = false;
};

}  // namespace glovebox
