// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ready_sandbox.h"

#include <utility>

#include "base/bytes.h"
#include "sandbox/run.h"

namespace glovebox {
namespace {

// The most bytes of a program that is sent without waiting for an answer.
constexpr Bytes kMostAlong = 512_KiB;

}  // namespace

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

bool ReadySandbox::take_along(const warden::WriteRequest& program) {
  const bool taken = channel_ && program.bytes.size() < kMostAlong.count;
  if (taken) {
    program_ = program;
  }
  return taken;
}

Result<RunOutcome> ReadySandbox::run(const Command& command,
                                     const RunOptions& options,
                                     std::string_view compiled) {
  if (!channel_) {
    return sandbox_->run(command, options);
  }
  Run run(*sandbox_, options, std::move(channel_));
  auto outcome = run.go_on(command, program_, compiled);
  changes_ = run.take_changes();
  return outcome;
}

Result<Sandbox::Changes> ReadySandbox::take_changes() {
  return changes_ ? Result<Sandbox::Changes>(*std::move(changes_)) : sandbox_->changed_files();
}

Result<RunOutcome> ReadySandbox::compile(const std::string& program, const RunOptions& options) {
  return Run(*sandbox_, options, std::move(channel_)).compile(program);
}

}  // namespace glovebox
