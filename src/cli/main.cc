// SPDX-License-Identifier: Apache-2.0
// glovebox: runs code that somebody else wrote, in a sealed sandbox.
#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <string>

#include "cli/command.h"

#ifndef GB_VERSION
#error "the build defines GB_VERSION"
#endif

namespace {

constexpr const char* kFooter = R"(Examples:
  glovebox run script.py                  run a file, sealed, and remove the sandbox
  glovebox run -l python -e 'print(6*7)'  run a line
  glovebox run plot.py --file data.csv --out results
  glovebox languages                      what can run here
  glovebox doctor                         which walls can be built here, and the mend)";

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away is an error to handle, not a reason to die.
  (void)std::signal(SIGPIPE, SIG_IGN);

  CLI::App app("Runs untrusted code in a sealed sandbox.", "glovebox");
  app.set_version_flag("--version", std::string("glovebox ") + GB_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  glovebox::cli::Action action;
  glovebox::cli::add_run(app, &action);
  glovebox::cli::add_languages(app, &action);
  glovebox::cli::add_doctor(app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    const int status = app.exit(wrong);
    return status == 0 ? 0 : glovebox::cli::kExitWrongUsage;
  }
  return action();
}
