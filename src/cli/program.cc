// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/sys/undumpable.h"
#include "language/suggest.h"

#ifndef GB_VERSION
#error "the build defines GB_VERSION"
#endif

namespace glovebox::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  glovebox run script.py                  run a file in a fresh sandbox
  glovebox run -l python -e 'print(6*7)'  run a line of code
  glovebox run plot.py --file data.csv --out results
  glovebox repl -l python                 start a live interpreter in a sandbox
  glovebox notebook run analysis.ipynb    run a notebook and save its outputs
  glovebox serve                          run the daemon for REST and E2B SDK clients
  glovebox sandbox create                 create a sandbox on the daemon
  glovebox languages                      list the languages that can run here
  glovebox doctor                         check which isolation features work here)";

// What is wrong with the command line, and where the right one is shown.
Error usage_error(CLI::App& app, const CLI::ParseError& wrong) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> words = app.remaining();
  if (!chosen.empty()) {
    std::string path = chosen.front()->get_name();
    for (const CLI::App* const below : chosen.front()->get_subcommands()) {
      path += " " + below->get_name();
    }
    return {ErrorCode::kInvalid, wrong.what(),
            "run 'glovebox " + path + " --help' for its options"};
  }
  if (words.empty() || words.front().starts_with('-')) {
    return {ErrorCode::kInvalid,
            words.empty() ? wrong.what() : "unknown option '" + words.front() + "'",
            "run 'glovebox --help' for a list of commands"};
  }
  std::vector<std::string_view> names;
  for (const CLI::App* const command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  const std::string nearest = nearest_word(words.front(), names);
  return {ErrorCode::kInvalid, "unknown command '" + words.front() + "'",
          nearest.empty() ? "run 'glovebox --help' for a list of commands"
                          : "did you mean 'glovebox " + nearest + "'?"};
}

int run(int argc, char** argv, const Commands& commands) {
  CLI::App app("Run untrusted code in a sandbox.", "glovebox");
  app.set_version_flag("--version", std::string("glovebox ") + GB_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  // What follows "--" is the guest's alone: the parser would take "[a,b]" for a list of two.
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  const std::vector<std::string> words(dashes == end ? end : dashes + 1, end);
  Action action;
  commands.add(app, argc < 2 ? std::string_view() : argv[1], words, &action);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    if (!words.empty() && !commands.take_words(app)) {
      throw CLI::ExtrasError(words);
    }
  } catch (const CLI::ParseError& wrong) {
    // Help and version come this way too.
    return wrong.get_exit_code() == 0 ? app.exit(wrong) : report(usage_error(app, wrong));
  }
  return action();
}

}  // namespace

void run_program(int argc, char** argv, const Commands& commands) {
  // A reader that goes away is an error to handle, not a reason to die.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // What makes and holds sandboxes knows the secrets of all of them.
  sys::become_undumpable();
  int status = kExitFailed;
  try {
    status = run(argc, argv, commands);
  } catch (const std::exception& unforeseen) {
    (void)std::fprintf(stderr, "glovebox: %s\n", unforeseen.what());
  }
  (void)std::fflush(nullptr);
  std::cout.flush();
#ifdef __SANITIZE_ADDRESS__
  __lsan_do_leak_check();  // It would come with the destructors.
#endif
  std::_Exit(status);
}

}  // namespace glovebox::cli
