// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_program.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "base/sys/installation.h"

namespace glovebox::cli {
namespace {

constexpr const char* kProgram = "glovebox-daemon";

}  // namespace

bool is_daemon_command(std::string_view name) {
  return std::ranges::any_of(kDaemonCommands,
                             [name](const DaemonCommand& each) { return name == each.name; });
}

void list_daemon_commands(CLI::App& app) {
  for (const DaemonCommand& each : kDaemonCommands) {
    app.add_subcommand(each.name, each.description);
  }
}

Error become_daemon_program(char** argv) {
  const auto directories = sys::installed_directories();
  if (!directories) {
    return directories.error();
  }
  for (const std::string& directory : *directories) {
    (void)::execv((directory + "/" + kProgram).c_str(), argv);
  }
  return {ErrorCode::kUnsupported,
          std::string(kProgram) + " cannot be started in " + directories->front(),
          "install it there or in /usr/libexec/glovebox; in a source tree, run './dev build'"};
}

}  // namespace glovebox::cli
