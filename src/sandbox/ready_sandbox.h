// SPDX-License-Identifier: Apache-2.0
// ReadySandbox: a sandbox that waits for its only run, perhaps with a runner in it that has started
// and waits to be told what to run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/warden_link.h"
#include "spec/command.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// For one thread at a time. Its end is that of the sandbox.
class ReadySandbox {
 public:
  // Without a runner.
  explicit ReadySandbox(std::unique_ptr<Sandbox> sandbox) : sandbox_(std::move(sandbox)) {}

  // Starts the runner in this directory of the sandbox. The run has to come within `wait`.
  // kUnsupported in a tier whose guests are programs of the machine; kUnavailable where the runner
  // does not wait within `patience`.
  static Result<ReadySandbox> start(std::unique_ptr<Sandbox> sandbox,
                                    const std::string& directory,
                                    const RunOptions& options,
                                    std::chrono::milliseconds wait,
                                    std::chrono::milliseconds patience);

  [[nodiscard]] Sandbox& operator*() const { return *sandbox_; }
  [[nodiscard]] Sandbox* operator->() const { return sandbox_.get(); }

  // Whether a runner waits.
  [[nodiscard]] bool waits() const { return channel_ != nullptr; }

  // While a runner waits: either, once, with the same limits as at the start.
  //
  // As Sandbox::run(), in the directory where it waits. All that the command needs in its
  // environment beside what its sandbox was made with is in it. `program`, unless its path is
  // empty, is written first, as by Sandbox::write_file(), and the workspace marked; nobody waits
  // for that. Where it could not be written, that is the error, though the runner may have begun.
  // `compiled`: what compile() has made of the same program, or nothing.
  Result<RunOutcome> run(const Command& command,
                         const warden::WriteRequest& program,
                         std::string_view compiled,
                         const RunOptions& options);
  // What run() has found changed in the workspace at the end, where it has written a program: as
  // Sandbox::changed_files(), without asking. Nothing where the sandbox has ended. Once.
  [[nodiscard]] std::optional<Sandbox::Changes> take_changes() { return std::move(changes_); }
  // Writes what the runner makes of this program, a file in the sandbox, to standard output.
  Result<RunOutcome> compile(const std::string& program, const RunOptions& options);

 private:
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<WardenLink::Channel> channel_{};  // Of the runner that waits.
  std::optional<Sandbox::Changes> changes_{};
};

}  // namespace glovebox
