// SPDX-License-Identifier: Apache-2.0
// glovebox sandbox ls
#include <CLI/CLI.hpp>
#include <ctime>
#include <iostream>
#include <memory>

#include "base/bytes.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/sandbox_commands.h"
#include "cli/daemon/table.h"
#include "spec/json/schema.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSandboxListFooter = R"(Examples:
  glovebox sandbox ls
  glovebox sandbox ls --state paused --metadata task=report
  glovebox sandbox ls -q --metadata task=report | xargs glovebox sandbox kill)";

constexpr std::size_t kPage = 100;
// A keeper holds 4,096.
constexpr std::size_t kMost = 10'000;

struct ListOptionsText {
  DaemonOptionsText daemon;
  std::string state;
  std::vector<std::string> metadata;
  bool quiet = false;
};

Result<Json> fetch(DaemonClient& daemon, const ListOptionsText& options) {
  std::string query;
  if (!options.state.empty()) {
    query += "&state=" + encode(options.state);
  }
  for (const std::string& pair : options.metadata) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return Error(ErrorCode::kInvalid, "--metadata: expected NAME=VALUE");
    }
    query += "&metadata." + encode(pair.substr(0, equals)) + "=" + encode(pair.substr(equals + 1));
  }
  return fetch_sandboxes(daemon, query);
}

std::string metadata_of(const Json& sandbox) {
  std::string text;
  if (sandbox.contains("metadata") && sandbox["metadata"].is_object()) {
    for (const auto& [name, value] : sandbox["metadata"].items()) {
      text += (text.empty() ? "" : " ") + name + "=" +
              (value.is_string() ? value.get<std::string>() : "");
    }
  }
  return text;
}

std::string memory_of(const Json& sandbox) {
  const auto limits = sandbox.find("limits");
  return limits == sandbox.end()
             ? ""
             : to_string(Bytes{static_cast<std::uint64_t>(number_in(*limits, "memory"))});
}

Result<int> list(const ListOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json all = GB_TRY(fetch(daemon, options));
  if (options.daemon.json) {
    const Json document{{"schema", schema_of("sandboxes")}, {"sandboxes", all}, {"next", nullptr}};
    std::cout << document.dump(2) << "\n";
    return 0;
  }
  const long long now = std::time(nullptr);
  Table table({"ID", "STATE", "TEMPLATE", "TIER", "AGE", "LEFT", "MEMORY", "METADATA"});
  for (const Json& sandbox : all) {
    if (!sandbox.is_object()) {
      continue;
    }
    if (options.quiet) {
      std::cout << text_in(sandbox, "id") << "\n";
      continue;
    }
    const std::string state = text_in(sandbox, "state");
    table.add({text_in(sandbox, "id"), state, text_in(sandbox, "template"),
               text_in(sandbox, "tier"), short_time(now - seconds_of(text_in(sandbox, "created"))),
               state == "paused" ? "-" : short_time(seconds_of(text_in(sandbox, "expires")) - now),
               memory_of(sandbox), metadata_of(sandbox)});
  }
  if (!options.quiet) {
    std::cout << table.text();
  }
  return 0;
}

}  // namespace

Result<Json> fetch_sandboxes(DaemonClient& daemon, const std::string& filters) {
  const std::string query = "/v1/sandboxes?limit=" + std::to_string(kPage) + filters;
  Json all = Json::array();
  std::string after;
  do {
    const Json page =
        GB_TRY(daemon.ask("GET", query + (after.empty() ? "" : "&after=" + encode(after))));
    for (const Json& each : list_in(page, "sandboxes")) {
      all.push_back(each);
    }
    const std::string next = text_in(page, "next");
    after = next == after ? "" : next;
  } while (!after.empty() && all.size() < kMost);
  return all;
}

void add_sandbox_list(CLI::App& group, Action* action) {
  auto* const command = group.add_subcommand("ls", "List sandboxes, newest first");
  command->footer(kSandboxListFooter);
  auto options = std::make_shared<ListOptionsText>();
  command->add_option("--state", options->state, "Only sandboxes in this state: running or paused")
      ->type_name("STATE")
      ->check(CLI::IsMember({"running", "paused"}));
  command
      ->add_option("--metadata", options->metadata,
                   "Only sandboxes with this metadata NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_flag("-q,--quiet", options->quiet, "Print only ids");
  add_daemon_options(*command, options->daemon);
  command->callback([action, options] { *action = [options] { return ended(list(*options)); }; });
}

}  // namespace glovebox::cli
