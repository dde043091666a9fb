// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox: sandboxes that a daemon holds.
#include <CLI/CLI.hpp>

#include "cli/daemon/commands.h"
#include "cli/daemon/sandbox_commands.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxFooter =
    R"(These commands talk to 'glovebox serve' on this machine, or to the daemon given by --url and
--key or by GLOVEBOX_URL and GLOVEBOX_API_KEY.

Examples:
  ID=$(glovebox sandbox create --timeout 1h --memory 1G)
  glovebox sandbox cp data.csv $ID:data/
  glovebox sandbox exec $ID -e 'import pandas as pd; pd.read_csv("data/data.csv").describe()'
  glovebox sandbox exec -t $ID -- bash
  glovebox sandbox ls
  glovebox sandbox kill $ID)";

}  // namespace

void add_sandbox(CLI::App& app,
                 bool described,
                 const std::vector<std::string>& words,
                 Action* action) {
  auto* const group = app.add_subcommand(kSandbox.name, kSandbox.description);
  group->footer(kSandboxFooter);
  group->require_subcommand(1);
  if (!described) {
    return;
  }
  add_sandbox_create(*group, action);
  add_sandbox_list(*group, action);
  add_sandbox_info(*group, action);
  add_sandbox_exec(*group, words, action);
  add_sandbox_ssh(*group, words, action);
  add_sandbox_run(*group, action);
  add_sandbox_dry_run(*group, action);
  add_sandbox_copy(*group, action);
  add_sandbox_files(*group, action);
  add_sandbox_packages(*group, action);
  add_sandbox_logs(*group, action);
  add_sandbox_lifecycle(*group, action);
  add_sandbox_archives(*group, action);
}

}  // namespace glovebox::cli
