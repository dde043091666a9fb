// SPDX-License-Identifier: Apache-2.0
// Command: a program to start in a sandbox.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace glovebox {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Command {
  // argv[0] is looked up in the sandbox's PATH when it holds no slash. Never empty.
  std::vector<std::string> argv;

  // Added to the sandbox's own small environment; a name given here wins.
  Environment env;

  // Absolute, or relative to the sandbox's home directory.
  std::string cwd;

  friend bool operator==(const Command&, const Command&) = default;
};

}  // namespace glovebox
