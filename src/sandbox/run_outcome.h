// SPDX-License-Identifier: Apache-2.0
// RunOutcome: how something that ran in a sandbox ended (a process or an execution of an
// interpreter), with what is known of it alone.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/verdict.h"

namespace glovebox {

struct RunOutcome {
  Status status = Status::kFailed;
  int exit_code = 0;
  std::optional<int> signal;
  // "time" or "cpu_time" when the status is kTimeout; a limit of hoard_watch.h when that limit is
  // why the status is kOutOfMemory.
  std::string limit;
  Captured out;
  Captured err;
  Usage usage;
  // Limits that the guest ran into, by name, whatever ended it.
  std::vector<std::string> hits;
  // What was not available, each a sentence for people.
  std::vector<std::string> notes;
  std::chrono::microseconds first_event{0};

  // Sets the exit code and the signal from a status of waitpid(2). For a signal the exit code is
  // 128 plus its number, as in a shell.
  void set_end(int wait_status);
  // Adds a limit to the hits, unless it is there already.
  void hit(std::string_view name);
  // This time limit ended it.
  void time_out(std::string_view name);
};

// Puts it into a verdict whose limits are listed already; its notes come after those.
void conclude(Verdict& verdict, RunOutcome outcome);

}  // namespace glovebox
