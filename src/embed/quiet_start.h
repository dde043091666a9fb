// SPDX-License-Identifier: Apache-2.0
// Starts a program without the caller's own code noticing it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::embed {

struct QuietProgram {
  std::string program{};                   // A path.
  std::vector<std::string> words{};        // Its argv.
  std::vector<std::string> environment{};  // "NAME=value" each.
  std::vector<int> descriptors{};          // What it finds at 0, 1, 2 and so on; it gets no others.
};

// Starts it orphaned, so that the caller gets no SIGCHLD and wait(2) never finds it: in a session
// of its own, in /, with no signal blocked or ignored. Returns once the program runs, or with the
// error "start PROGRAM". The program must know by itself when to end. From any thread.
Result<void> start_quietly(const QuietProgram& program);

}  // namespace glovebox::embed
