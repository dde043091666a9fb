// SPDX-License-Identifier: Apache-2.0
// ReadyRun: a sandbox in which a runner waits to be told what to run, for one run.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/warden_link.h"
#include "spec/command.h"

namespace glovebox {

// For one thread at a time. Its end is that of the sandbox.
class ReadyRun {
 public:
  // Starts the runner in this directory of the sandbox. The run has to come within `wait`.
  // kUnsupported in a tier whose guests are programs of the machine; kUnavailable where the runner
  // does not wait within `patience`.
  static Result<ReadyRun> start(std::unique_ptr<Sandbox> sandbox,
                                const std::string& directory,
                                const RunOptions& options,
                                std::chrono::milliseconds wait,
                                std::chrono::milliseconds patience);

  [[nodiscard]] Sandbox& sandbox() const { return *sandbox_; }

  // Either, once, with the same limits as at the start.
  //
  // As Sandbox::run(), in the directory where it waits. All that the command needs in its
  // environment beside what its sandbox was made with is in it. `compiled`: what compile() has made
  // of the same program, or nothing.
  Result<RunOutcome> run(const Command& command,
                         std::string_view compiled,
                         const RunOptions& options);
  // Writes what it makes of this program, a file in the sandbox, to standard output.
  Result<RunOutcome> compile(const std::string& program, const RunOptions& options);

 private:
  ReadyRun(std::unique_ptr<Sandbox> sandbox, std::unique_ptr<WardenLink::Channel> channel)
      : sandbox_(std::move(sandbox)), channel_(std::move(channel)) {}

  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<WardenLink::Channel> channel_;  // Of the process that waits.
};

}  // namespace glovebox
