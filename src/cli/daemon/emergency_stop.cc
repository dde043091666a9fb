// SPDX-License-Identifier: Apache-2.0
// glovebox emergency-stop: ends everything in a scope at once, and lets nothing begin there until
// the stop is lifted.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/table.h"

namespace glovebox::cli {
namespace {

constexpr const char* kStopFooter = R"(Workspaces on disk stay as they are; memory, processes and
workspaces in memory are gone.

Examples:
  glovebox emergency-stop                    everything
  glovebox emergency-stop --tenant acme
  glovebox emergency-stop --sandbox ID
  glovebox emergency-stop --list
  glovebox emergency-stop --tenant acme --resume)";

struct StopOptionsText {
  DaemonOptionsText daemon;
  std::string tenant;
  std::string sandbox;
  bool resume = false;
  bool list = false;
};

int show_stops(const Json& answer, bool json) {
  if (json) {
    std::cout << answer.dump(2) << "\n";
    return 0;
  }
  Table table({"SCOPE", "NAME", "BY TENANT", "BY KEY", "AT"});
  for (const Json& stop : list_in(answer, "stops")) {
    const auto or_dash = [&](const char* name) {
      const std::string text = text_in(stop, name);
      return text.empty() ? std::string("-") : text;
    };
    table.add({text_in(stop, "scope"), or_dash("name"), text_in(stop, "by_tenant"),
               or_dash("by_key"), text_in(stop, "at")});
  }
  std::cout << table.text();
  return 0;
}

Result<int> stop_or_resume(const StopOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/emergency-stop";
  if (options.list) {
    return show_stops(GB_TRY(daemon.ask("GET", path)), options.daemon.json);
  }
  if (options.resume) {
    const std::string scope = !options.tenant.empty()    ? "?tenant=" + encode(options.tenant)
                              : !options.sandbox.empty() ? "?sandbox=" + encode(options.sandbox)
                                                         : std::string();
    (void)GB_TRY(daemon.ask("DELETE", path + scope));
    return 0;
  }
  Json request = Json::object();
  if (!options.tenant.empty()) {
    request["tenant"] = options.tenant;
  }
  if (!options.sandbox.empty()) {
    request["sandbox"] = options.sandbox;
  }
  const Json answer = GB_TRY(daemon.ask("POST", path, request));
  if (options.daemon.json) {
    std::cout << answer.dump(2) << "\n";
  } else {
    std::cout << "ended " << number_in(answer, "stopped")
              << " sandboxes; nothing starts until 'glovebox emergency-stop --resume'\n";
  }
  return 0;
}

}  // namespace

void add_emergency_stop(CLI::App& app, bool described, Action* action) {
  auto* const command = app.add_subcommand(kEmergencyStop.name, kEmergencyStop.description);
  if (!described) {
    return;
  }
  command->footer(kStopFooter);
  auto options = std::make_shared<StopOptionsText>();
  add_daemon_options(*command, options->daemon);
  auto* const tenant =
      command->add_option("--tenant", options->tenant, "Only this tenant")->type_name("TENANT");
  command->add_option("--sandbox", options->sandbox, "Only this sandbox, of any tenant")
      ->type_name("ID")
      ->excludes(tenant);
  auto* const resume =
      command->add_flag("--resume", options->resume, "Lift the stop of the same scope");
  command->add_flag("--list", options->list, "Show the stops that are in effect")->excludes(resume);
  command->callback(
      [action, options] { *action = [options] { return ended(stop_or_resume(*options)); }; });
}

}  // namespace glovebox::cli
