// SPDX-License-Identifier: Apache-2.0
// glovebox-daemon: `glovebox serve`, and the commands that are its clients.
#include <CLI/CLI.hpp>

#include "cli/daemon/commands.h"
#include "cli/program.h"

namespace {

namespace cli = glovebox::cli;

void add_commands(CLI::App& app,
                  std::string_view named,
                  const std::vector<std::string>& words,
                  cli::Action* action) {
  cli::add_serve(app, action);
  cli::add_mcp(app, named == "mcp", action);
  cli::add_sandbox(app, named == "sandbox", words, action);
  cli::add_agent(app, named == "agent", words, action);
  cli::add_key(app, named == "key", action);
  cli::add_template(app, named == "template", action);
  cli::add_tenant(app, named == "tenant", action);
  cli::add_secret(app, named == "secret", action);
  cli::add_approve(app, named == "approve", action);
  cli::add_audit(app, named == "audit", action);
  cli::add_replay(app, named == "replay", action);
  cli::add_emergency_stop(app, named == "emergency-stop", action);
}

// Only "agent", "sandbox exec" and "sandbox ssh".
bool take_words(const CLI::App& app) {
  if (app.got_subcommand("agent")) {
    return true;
  }
  if (!app.got_subcommand("sandbox")) {
    return false;
  }
  const CLI::App* const sandbox = app.get_subcommand("sandbox");
  return sandbox->got_subcommand("exec") || sandbox->got_subcommand("ssh");
}

}  // namespace

int main(int argc, char** argv) {
  cli::run_program(argc, argv, {.add = add_commands, .take_words = take_words});
}
