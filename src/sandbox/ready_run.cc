// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ready_run.h"

#include <utility>

#include "sandbox/run.h"

namespace glovebox {

Result<ReadyRun> ReadyRun::start(std::unique_ptr<Sandbox> sandbox,
                                 const std::string& directory,
                                 const RunOptions& options,
                                 std::chrono::milliseconds wait,
                                 std::chrono::milliseconds patience) {
  auto channel = GB_TRY(
      Run::start_waiting(*sandbox, directory, options, wait, WardenLink::Clock::now() + patience));
  return ReadyRun(std::move(sandbox), std::move(channel));
}

Result<RunOutcome> ReadyRun::run(const Command& command,
                                 std::string_view compiled,
                                 const RunOptions& options) {
  return Run(*sandbox_, options, std::move(channel_)).go_on(command, compiled);
}

Result<RunOutcome> ReadyRun::compile(const std::string& program, const RunOptions& options) {
  return Run(*sandbox_, options, std::move(channel_)).compile(program);
}

}  // namespace glovebox
