// SPDX-License-Identifier: Apache-2.0
// What the two command-line programs have in common: `glovebox`, which is small so that it starts
// fast, and `glovebox-daemon`, which it becomes for the daemon and its clients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace glovebox::cli {

struct Commands {
  // Adds the commands to `app`. `named` is the first word of the command line: only that command
  // needs its options described. `words` is what follows "--".
  void (*add)(CLI::App& app,
              std::string_view named,
              const std::vector<std::string>& words,
              Action* action);
  // Whether the command that was named takes words after "--".
  bool (*take_words)(const CLI::App& app);
};

// The whole of main(): reads the command line, does what it says and ends the process with its exit
// status, without running destructors for what the kernel frees anyway.
[[noreturn]] void run_program(int argc, char** argv, const Commands& commands);

}  // namespace glovebox::cli
