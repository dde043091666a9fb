// SPDX-License-Identifier: Apache-2.0
// glovebox: runs code that somebody else wrote, in a sealed sandbox.
#include <CLI/CLI.hpp>

#include "cli/daemon_program.h"
#include "cli/program.h"

namespace {

namespace cli = glovebox::cli;

void add_commands(CLI::App& app,
                  std::string_view named,
                  const std::vector<std::string>& words,
                  cli::Action* action) {
  cli::add_run(app, words, action);
  if (named == "run") {
    return;  // Nobody who runs something waits for the description of the rest.
  }
  cli::add_pool(app, action);
  cli::add_repl(app, action);
  cli::add_notebook(app, action);
  cli::add_languages(app, action);
  cli::add_doctor(app, action);
  cli::list_daemon_commands(app);
}

bool take_words(const CLI::App& app) { return app.got_subcommand("run"); }

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && cli::is_daemon_command(argv[1])) {
    return cli::report(cli::become_daemon_program(argv));
  }
  cli::run_program(argc, argv, {.add = add_commands, .take_words = take_words});
}
