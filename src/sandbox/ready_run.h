// SPDX-License-Identifier: Apache-2.0
// ReadyRun: a sandbox in which a program is loaded and waits for its arguments, for one run.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/warden_link.h"
#include "spec/command.h"

namespace glovebox {

// For one thread at a time. Its end is that of the sandbox.
class ReadyRun {
 public:
  // Starts the program of `command` there as far as it goes without arguments and environment. The
  // run has to come within `wait`. kUnsupported in a tier whose guests are programs of the machine;
  // kUnavailable for a program that is not ready within `patience`.
  static Result<ReadyRun> start(std::unique_ptr<Sandbox> sandbox,
                                const Command& command,
                                const RunOptions& options,
                                std::chrono::milliseconds wait,
                                std::chrono::milliseconds patience);

  [[nodiscard]] Sandbox& sandbox() const { return *sandbox_; }

  // As Sandbox::run(), once, of the same program in the same directory within the same limits. All
  // that it needs in its environment beside what its sandbox was made with is in `command`.
  Result<RunOutcome> run(const Command& command, const RunOptions& options);

 private:
  ReadyRun(std::unique_ptr<Sandbox> sandbox, std::unique_ptr<WardenLink::Channel> channel)
      : sandbox_(std::move(sandbox)), channel_(std::move(channel)) {}

  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<WardenLink::Channel> channel_;  // Of the process that waits.
};

}  // namespace glovebox
