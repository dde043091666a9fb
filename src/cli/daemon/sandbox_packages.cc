// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox packages: installs packages in a running sandbox.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/daemon/remote_options.h"
#include "cli/daemon/remote_run.h"
#include "cli/daemon/sandbox_commands.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxPackagesFooter =
    R"(Packages are installed from the daemon's sources: glovebox serve --package-source DIR.
Running interpreters can import them right away.

Exit status: 0 if all packages were installed; 1 if pip or npm failed; 124 time limit; 137 memory
limit; 125 glovebox error; 2 usage error.

Examples:
  glovebox sandbox packages ID pip:flask pip:six==1.16.0
  glovebox sandbox packages ID npm:left-pad --time 1m --json)";

struct PackagesText {
  DaemonOptionsText daemon;
  LimitsText limits;
  std::string id;
  std::vector<std::string> names;
  bool events = false;
};

Result<int> install(const PackagesText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Json request = {{"packages", options.names}};
  if (Json limits = GB_TRY(limits_json(options.limits)); !limits.empty()) {
    request["limits"] = std::move(limits);
  }
  const std::string path = "/v1/sandboxes/" + encode(options.id) + "/packages";
  return follow_run(daemon, path, request, {.json = options.daemon.json, .events = options.events});
}

}  // namespace

void add_sandbox_packages(CLI::App& group, Action* action) {
  auto* const command =
      group.add_subcommand("packages", "Install pip and npm packages in a sandbox");
  command->footer(kSandboxPackagesFooter);
  auto options = std::make_shared<PackagesText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  command
      ->add_option("PACKAGES", options->names,
                   "Packages: pip:NAME[==VERSION] or npm:NAME[@VERSION]")
      ->required();
  command->add_flag("--events", options->events, "Print events as JSON lines as they happen");
  add_limit_options(*command, options->limits);
  add_daemon_options(*command, options->daemon);
  command->callback(
      [action, options] { *action = [options] { return ended(install(*options)); }; });
}

}  // namespace glovebox::cli
