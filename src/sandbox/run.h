// SPDX-License-Identifier: Apache-2.0
// Run: one process in a sandbox, from the request to start it until its end is judged.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/output.h"
#include "sandbox/sandbox.h"
#include "sandbox/used_since.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// Limits::open_files, or less if our own limits are lower: without privilege a process gets no more
// than its parent, and as an ordinary user no guest gets more than half of our soft limit.
std::uint32_t open_files_here(const Limits& limits);

// RLIMIT_DATA of each process if no cgroup limits memory: what it may take before it is
// measured. Twice the limit, because programs reserve more than they use.
std::uint64_t most_data(const Limits& limits);

// What the warden has answered by kDone, in `report`.
Result<void> done_or_error(std::string_view report);

class Run {
 public:
  // Sandbox and options must outlive the run. `waiting`: the channel of a process that
  // start_waiting() has started there.
  Run(Sandbox& sandbox,
      const RunOptions& options,
      std::unique_ptr<WardenLink::Channel> waiting = nullptr);

  // Starts it.
  Result<RunOutcome> execute(const Command& command);

  // Starts a runner that waits in `directory` to be told what to run, for at most `wait`.
  // kUnavailable if it has not said before `until` that it waits; kUnsupported in a tier without
  // a runner.
  static Result<std::unique_ptr<WardenLink::Channel>> start_waiting(
      Sandbox& sandbox,
      const std::string& directory,
      const RunOptions& options,
      std::chrono::milliseconds wait,
      WardenLink::Clock::time_point until);
  // What a waiting runner continues with: Runner::beginning_of(), Runner::compiling(). Requires:
  // there is one. `program` as ReadySandbox::take_along() has it; no path: none.
  Result<RunOutcome> go_on(const Command& command,
                           const warden::WriteRequest& program,
                           std::string_view compiled);
  // What go_on() has been told of changes in the workspace, if it has written a program: as
  // Sandbox::changed_files(). Nothing if the sandbox has ended. Once.
  [[nodiscard]] std::optional<Sandbox::Changes> take_changes() { return std::move(changes_); }
  Result<RunOutcome> compile(const std::string& program);

  // The request that starts `command` there, with the limits that are each process's own.
  static warden::StartRequest make_request(const Sandbox& sandbox,
                                           const Command& command,
                                           const RunOptions& options);

  // One of the warden's own commands that has streams like a process: kUnpack, kPack.
  Result<RunOutcome> task(warden::Request request, std::string_view payload);

 private:
  using Clock = WardenLink::Clock;

  // Why we ended it, when we did.
  enum class Cause { kItself, kWall, kCpu, kMemory, kHoard, kCanceled };

  Result<RunOutcome> tell(std::string beginning, const warden::WriteRequest& program);
  void go_on_telling();
  Result<RunOutcome> follow();
  void lose_warden();
  void wait_for_something();
  Result<void> take_frames();
  [[nodiscard]] bool wants_stdin() const;
  void feed_stdin();
  void end_stdin();
  void acknowledge(warden::Stream stream, std::size_t& taken, std::size_t more);
  void check_limits();
  void cancel();
  void end_it(Cause cause);
  RunOutcome judge();
  void judge_start_error(RunOutcome& outcome) const;
  // Which of the limits it ran into.
  struct Met {
    bool memory = false;
    bool pids = false;
    bool disk = false;
  };
  void judge_exit(RunOutcome& outcome, const Met& met) const;

  Sandbox& sandbox_;
  std::unique_ptr<WardenLink::Channel> channel_;
  const RunOptions& options_;
  OutputCapture out_;
  OutputCapture err_;
  const UsedSince used_;
  const Clock::time_point start_;
  std::string program_;             // For the message when it cannot be started, or written.
  bool file_size_limited_ = false;  // SIGXFSZ may be the kernel's.

  Cause cause_ = Cause::kItself;
  Clock::time_point next_check_;
  bool asked_to_end_ = false;
  Clock::time_point cancel_at_ = Clock::time_point::max();
  Clock::time_point force_at_ = Clock::time_point::max();
  std::size_t stdin_window_ = warden::kInputWindow;
  std::size_t out_taken_ = 0;  // And not acknowledged yet.
  std::size_t err_taken_ = 0;
  std::string untold_;    // What a runner is told before its program's input,
  std::size_t told_ = 0;  // as far as it has been sent.
  bool stdin_open_ = false;
  bool forced_ = false;
  bool warden_lost_ = false;
  bool finished_ = false;
  std::chrono::microseconds first_event_{0};
  warden::EndedReport ended_;
  std::optional<Sandbox::Changes> changes_;
};

}  // namespace glovebox
