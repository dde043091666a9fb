// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox info
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/table.h"

namespace glovebox::cli {
namespace {

struct InfoOptionsText {
  DaemonOptionsText daemon;
  std::string id;
};

std::string size_in(const Json& object, const char* name) {
  return to_string(
      Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(number_in(object, name), 0))});
}

// A value in one line.
std::string line_of(const Json& value) {
  return value.is_string() ? printable(value.get<std::string>())
                           : printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print(const Json& info) {
  for (const char* const name :
       {"id", "state", "template", "tier", "created", "expires", "on_timeout", "auto_resume",
        "metadata", "env", "network", "storage", "copies"}) {
    if (const auto found = info.find(name); found != info.end()) {
      std::cout << std::string(name) + ":" + std::string(13 - std::string_view(name).size(), ' ')
                << line_of(*found) << "\n";
    }
  }
  if (const auto usage = info.find("usage"); usage != info.end()) {
    std::cout << "memory:       " << size_in(*usage, "memory") << " of "
              << size_in(*usage, "memory_limit") << "\n"
              << "disk:         " << size_in(*usage, "disk") << " of "
              << size_in(*usage, "disk_limit") << "\n"
              << "processes:    " << number_in(*usage, "pids") << "\n";
  }
  if (!list_in(info, "contexts").empty()) {
    Table table({"CONTEXT", "LANGUAGE", "STATE", "DIRECTORY"});
    for (const Json& context : list_in(info, "contexts")) {
      table.add({text_in(context, "id"), text_in(context, "language"),
                 !flag_in(context, "alive") ? "dead"
                 : flag_in(context, "busy") ? "busy"
                                            : "idle",
                 text_in(context, "cwd")});
    }
    std::cout << "\n" << table.text();
  }
  if (!list_in(info, "processes").empty()) {
    Table table({"PID", "TERMINAL", "TAG", "COMMAND"});
    for (const Json& process : list_in(info, "processes")) {
      std::string command;
      for (const Json& word : list_in(process, "argv")) {
        command += (command.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : "");
      }
      table.add({std::to_string(number_in(process, "pid")),
                 flag_in(process, "terminal") ? "yes" : "no", text_in(process, "tag"), command});
    }
    std::cout << "\n" << table.text();
  }
}

void print_connections(const Json& info) {
  if (list_in(info, "connections").empty()) {
    return;
  }
  Table table({"HOST", "PORT", "VERDICT", "RULE"});
  for (const Json& connection : list_in(info, "connections")) {
    table.add({printable(text_in(connection, "host")),
               std::to_string(number_in(connection, "port")), text_in(connection, "verdict"),
               printable(text_in(connection, "rule"))});
  }
  std::cout << "\n" << table.text();
  if (const std::int64_t more = number_in(info, "more_connections"); more > 0) {
    std::cout << "and " << more << " more\n";
  }
}

Result<int> show(const InfoOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/sandboxes/" + encode(options.id);
  Json info = GB_TRY(daemon.ask("GET", path));
  info["usage"] = GB_TRY(daemon.ask("GET", path + "/usage"));
  info["usage"].erase("schema");  // It is part of this document.
  // Asking a paused sandbox about its contexts would wake it.
  if (text_in(info, "state") == "running") {
    info["contexts"] = list_in(GB_TRY(daemon.ask("GET", path + "/contexts")), "contexts");
    info["processes"] = list_in(GB_TRY(daemon.ask("GET", path + "/processes")), "processes");
  }
  if (const auto walls = info.find("walls");
      walls != info.end() && text_in(*walls, "network") == "rules") {
    const Json said = GB_TRY(daemon.ask("GET", path + "/connections"));
    info["connections"] = list_in(said, "connections");
    info["more_connections"] = number_in(said, "more_connections");
  }
  if (options.daemon.json) {
    std::cout << info.dump(2) << "\n";
  } else {
    print(info);
    print_connections(info);
  }
  return 0;
}

}  // namespace

void add_sandbox_info(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand(
      "info", "Show a sandbox's properties, resource usage, contexts and processes");
  command->footer("Examples:\n  glovebox sandbox info ID\n  glovebox sandbox info ID --json");
  auto options = std::make_shared<InfoOptionsText>();
  command->add_option("ID", options->id, "The sandbox")->required();
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(show(*options)); }; });
}

}  // namespace glovebox::cli
