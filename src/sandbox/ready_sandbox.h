// SPDX-License-Identifier: Apache-2.0
// ReadySandbox: a sandbox for one run. One that was made ahead may have a runner in it that has
// started and waits to be told what to run; its user need not know.
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

// For one thread at a time. The sandbox ends with it.
class ReadySandbox {
 public:
  // Without a runner.
  explicit ReadySandbox(std::unique_ptr<Sandbox> sandbox) : sandbox_(std::move(sandbox)) {}

  // Starts the runner in this directory of the sandbox. The run must come within `wait`.
  // kUnsupported in a tier whose guests are programs of the machine; kUnavailable if the runner
  // does not say within `patience` that it waits.
  static Result<ReadySandbox> start(std::unique_ptr<Sandbox> sandbox,
                                    const std::string& directory,
                                    const RunOptions& options,
                                    std::chrono::milliseconds wait,
                                    std::chrono::milliseconds patience);

  [[nodiscard]] Sandbox& operator*() const { return *sandbox_; }
  [[nodiscard]] Sandbox* operator->() const { return sandbox_.get(); }

  // True: run() will write the program to the workspace, as Sandbox::write_file() does, and mark
  // the workspace, and nobody waits for either; the program's bytes must last until then. False if
  // no runner waits, or the program is too large for that: the caller must write it.
  [[nodiscard]] bool take_along(const warden::WriteRequest& program);

  // As Sandbox::run(). Call it once, and with the limits of the start if a runner waits.
  //
  // A runner runs the command in the directory where it waits; the command must hold all that it
  // needs in its environment beside what its sandbox was made with. If a program that
  // was taken along could not be written, that is the error, though the runner may have begun.
  // `compiled`: what compile() has made of the same program, or nothing.
  Result<RunOutcome> run(const Command& command,
                         const RunOptions& options,
                         std::string_view compiled = {});

  // As Sandbox::changed_files(), but without asking if run() has been told already. Once.
  Result<Sandbox::Changes> take_changes();

  // In place of run(), if a runner waits: compiles this program, a file in the sandbox, and writes
  // the result to standard output.
  Result<RunOutcome> compile(const std::string& program, const RunOptions& options);

 private:
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<WardenLink::Channel> channel_{};  // Of the runner that waits.
  warden::WriteRequest program_{};                  // That is taken along; no path: none.
  std::optional<Sandbox::Changes> changes_{};
};

}  // namespace glovebox
