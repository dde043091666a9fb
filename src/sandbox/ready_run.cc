// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ready_run.h"

#include <utility>

#include "sandbox/run.h"

namespace glovebox {

Result<ReadyRun> ReadyRun::start(std::unique_ptr<Sandbox> sandbox,
                                 const Command& command,
                                 const RunOptions& options,
                                 std::chrono::milliseconds wait,
                                 std::chrono::milliseconds patience) {
  auto channel = GB_TRY(
      Run::start_waiting(*sandbox, command, options, wait, WardenLink::Clock::now() + patience));
  return ReadyRun(std::move(sandbox), std::move(channel));
}

Result<RunOutcome> ReadyRun::run(const Command& command, const RunOptions& options) {
  return Run(*sandbox_, options, std::move(channel_)).execute(command);
}

}  // namespace glovebox
