// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ready_sandbox.h"

#include <utility>

#include "sandbox/run.h"

namespace glovebox {

Result<ReadySandbox> ReadySandbox::start(std::unique_ptr<Sandbox> sandbox,
                                         const std::string& directory,
                                         const RunOptions& options,
                                         std::chrono::milliseconds wait,
                                         std::chrono::milliseconds patience) {
  ReadySandbox ready(std::move(sandbox));
  ready->hold_counters();
  ready.channel_ = GB_TRY(
      Run::start_waiting(*ready, directory, options, wait, WardenLink::Clock::now() + patience));
  return ready;
}

Result<RunOutcome> ReadySandbox::run(const Command& command,
                                     const warden::WriteRequest& program,
                                     std::string_view compiled,
                                     const RunOptions& options) {
  Run run(*sandbox_, options, std::move(channel_));
  auto outcome = run.go_on(command, program, compiled);
  changes_ = run.take_changes();
  return outcome;
}

Result<RunOutcome> ReadySandbox::compile(const std::string& program, const RunOptions& options) {
  return Run(*sandbox_, options, std::move(channel_)).compile(program);
}

}  // namespace glovebox
