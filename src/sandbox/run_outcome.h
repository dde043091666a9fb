// SPDX-License-Identifier: Apache-2.0
// RunOutcome: how something that ran in a sandbox ended, a process or an execution of an
// interpreter, with what is known of it alone.
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
  // "time" or "cpu_time" when the status is kTimeout, the one of hoard_watch.h when it is
  // kOutOfMemory because of that.
  std::string limit;
  Captured out;
  Captured err;
  Usage usage;
  // Limits that the guest ran into, by name, whatever ended it.
  std::vector<std::string> hits;
  // What could not be had, each a sentence for people.
  std::vector<std::string> notes;
  std::chrono::microseconds first_event{0};

  // The exit code and the signal of a status as waitpid(2) has it: of a signal 128 and its number,
  // as a shell says it.
  void set_end(int wait_status);
  // Adds a limit to the hits, unless it is there.
  void hit(std::string_view name);
  // This limit, of time, ended it.
  void time_out(std::string_view name);
};

// Puts it into a verdict whose limits are listed already; its notes come after those.
void conclude(Verdict& verdict, RunOutcome outcome);

}  // namespace glovebox
