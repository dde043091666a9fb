// SPDX-License-Identifier: Apache-2.0
// What the two programs of the command line have in common: `glovebox`, which is small because
// somebody waits for its start, and `glovebox-daemon`, which it becomes for the daemon and its
// clients.
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
  // Whether what the command line named takes words behind "--".
  bool (*take_words)(const CLI::App& app);
};

// The whole of main(): reads the command line, does what it says and ends the process with its exit
// status, without destructors of what the kernel takes back anyway.
[[noreturn]] void run_program(int argc, char** argv, const Commands& commands);

}  // namespace glovebox::cli
