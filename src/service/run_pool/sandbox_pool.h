// SPDX-License-Identifier: Apache-2.0
// SandboxPool: empty sandboxes made ahead of demand, which other processes of the same user take
// over: what `glovebox pool` keeps for `glovebox run`.
//
// Each is used once, by one process, which speaks with its warden directly; the pool ends it when
// that process is done or dead. Which kinds are made, that is with which mounts and limits, follows
// from what is asked for. A process whose own sandboxes would differ
// (service/run_pool/surroundings.h) gets none, and makes its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/run_pool/ready_sandboxes.h"

namespace glovebox {

class SandboxPool {
 public:
  // That wait, of all kinds together.
  static constexpr std::size_t kMostSandboxes = 64;

  // The user's only pool: fails with kConflict while there is another. Keeps `size` of each kind
  // waiting. Makes a first sandbox, so that an obstacle is known at once. `full` is called, from
  // another thread, each time when all are made.
  static Result<std::unique_ptr<SandboxPool>> open(std::size_t size, std::function<void()> full);

  SandboxPool(const SandboxPool&) = delete;
  SandboxPool& operator=(const SandboxPool&) = delete;
  ~SandboxPool();  // Ends all that it made, lent or not.

  // Lends until `stop_fd` has something to read, and then waits until what is lent has come back;
  // once there is something to read again, it stops waiting.
  void serve(int stop_fd);

 private:
  struct Borrower {
    UniqueFd socket;
    std::unique_ptr<ReadySandbox> sandbox;  // None before it has asked.
  };

  SandboxPool(std::size_t size, std::string own_surroundings, UniqueFd lock, UniqueFd listening);

  void welcome();
  void close_door();
  bool attend(Borrower& borrower);

  const std::string surroundings_;
  const UniqueFd lock_;
  UniqueFd listening_;
  std::vector<Borrower> borrowers_;
  bool crowded_ = false;  // No descriptor for one more.
  ReadySandboxes ready_;
};

}  // namespace glovebox
