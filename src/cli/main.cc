// SPDX-License-Identifier: Apache-2.0
// glovebox: runs code that somebody else wrote, in a sealed sandbox.
#include <CLI/CLI.hpp>
#include <array>
#include <string_view>

#include "cli/command_line.h"
#include "cli/completion.h"
#include "cli/daemon_program.h"
#include "cli/program.h"

namespace {

namespace cli = glovebox::cli;

constexpr std::array<std::string_view, 10> kOwnCommands = {
    "run",  "judge",    "mcp-wrap",  "policy", "pool",
    "repl", "notebook", "languages", "doctor", "completion"};

std::vector<std::string_view> all_commands() {
  std::vector<std::string_view> names(kOwnCommands.begin(), kOwnCommands.end());
  for (const cli::DaemonCommand& each : cli::kDaemonCommands) {
    names.emplace_back(each.name);
  }
  return names;
}

void add_commands(CLI::App& app,
                  std::string_view named,
                  const std::vector<std::string>& words,
                  cli::Action* action) {
  cli::add_run(app, words, action);
  if (named == "run") {
    return;  // Running something need not wait for the description of the rest.
  }
  cli::add_judge(app, words, action);
  cli::add_mcp_wrap(app, words, action);
  cli::add_policy(app, action);
  cli::add_pool(app, action);
  cli::add_repl(app, action);
  cli::add_notebook(app, action);
  cli::add_languages(app, action);
  cli::add_doctor(app, action);
  cli::add_completion(app, action);
  cli::list_daemon_commands(app);
}

bool take_words(const CLI::App& app) {
  return app.got_subcommand("run") || app.got_subcommand("judge") || app.got_subcommand("mcp-wrap");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> words = cli::read_command_line(argc, argv, all_commands());
  const std::size_t named = words.size() > 3 && words[1] == cli::kComplete ? 2 : 1;
  if (words.size() > named + 1 && cli::is_daemon_command(words[named])) {
    return cli::report(cli::become_daemon_program(words.data()));
  }
  cli::run_program(static_cast<int>(words.size()) - 1, words.data(),
                   {.add = add_commands, .take_words = take_words});
}
