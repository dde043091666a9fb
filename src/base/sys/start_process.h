// SPDX-License-Identifier: Apache-2.0
// Starting another program, and waiting for its end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::sys {

struct NewProcess {
  // A path; or a name, which is looked for in PATH.
  std::string program{};
  std::vector<std::string> words{};  // Its argv.
  // "NAME=value" each; without any, ours.
  std::optional<std::vector<std::string>> environment{};
  // What it finds at 0, 1, 2 and so on; it gets no others. None at all: it inherits ours.
  std::vector<int> descriptors{};
  int directory = -1;  // That it starts in; if negative, ours.
  enum class Group { kOurs, kItsOwn, kItsOwnSession } group = Group::kOurs;
  // No signal is blocked in it, and SIGPIPE ends it. What else we ignore it ignores too, unless
  // this is set.
  bool all_signals_default = false;
};

// Its pid: the caller waits for it. Fails with the error "start WORD", whose os_error() is ENOENT
// where there is no such program.
Result<pid_t> start_process(const NewProcess& process);

// Waits as long as it takes; returns the status, as waitpid(2) has it. Requires: a child of ours
// that nobody has waited for.
int wait_for_end(pid_t pid);

}  // namespace glovebox::sys
