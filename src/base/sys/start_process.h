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
  // "NAME=value" each; absent: ours.
  std::optional<std::vector<std::string>> environment{};
  // The descriptors that it finds at 0, 1, 2 and so on; it gets no others. Empty: it inherits ours.
  std::vector<int> descriptors{};
  int directory = -1;  // That it starts in; if negative, ours.
  enum class Group { kOurs, kItsOwn, kItsOwnSession } group = Group::kOurs;
  // No signal is blocked in it, and SIGPIPE ends it. It also ignores the other signals that we
  // ignore, unless this is set.
  bool all_signals_default = false;
};

// Returns its pid: the caller must wait for it. Fails with the error "start WORD", whose os_error()
// is ENOENT if there is no such program.
Result<pid_t> start_process(const NewProcess& process);

// Waits as long as it takes; returns the status, as waitpid(2) has it. Requires: a child of ours
// that nobody has waited for.
int wait_for_end(pid_t pid);

}  // namespace glovebox::sys
