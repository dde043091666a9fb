// SPDX-License-Identifier: Apache-2.0
// glovebox key: the API keys of a daemon. Needs a key with the scope admin, or the daemon's socket.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/duration.h"
#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/table.h"

namespace glovebox::cli {
namespace {

constexpr const char* kKeyFooter = R"(Examples:
  glovebox key create --scope run --scope read --expires 30d
  glovebox key ls
  glovebox key rotate ID --overlap 1h
  glovebox key revoke ID)";

struct KeyOptionsText {
  DaemonOptionsText daemon;
  std::string id;
  std::string tenant;
  std::string expires;
  std::string overlap;
  std::vector<std::string> scopes;
};

// Also reads "30d", which parse_duration() does not know, because no sandbox lasts that long.
Result<double> seconds_in(const std::string& text, const char* option) {
  const bool days = text.ends_with('d');
  const auto time = parse_duration(days ? text.substr(0, text.size() - 1) + "h" : text);
  if (!time) {
    return Error(ErrorCode::kInvalid,
                 std::string(option) + ": invalid duration '" + printable(text) + "'",
                 "use a duration such as 30m, 12h or 30d");
  }
  return static_cast<double>(time->count()) / 1000 * (days ? 24 : 1);
}

std::string scopes_of(const Json& key) {
  std::string text;
  for (const Json& scope : list_in(key, "scopes")) {
    text += (text.empty() ? "" : " ") + (scope.is_string() ? scope.get<std::string>() : "");
  }
  return text;
}

void show_new(const Json& made, bool json) {
  if (json) {
    std::cout << made.dump(2) << "\n";
    return;
  }
  std::cout << printable(text_in(made, "key")) << "\n";
  std::cerr << "glovebox: created key " << printable(text_in(made, "id"))
            << "; it will not be shown again\n";
}

Result<int> create(const KeyOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Json request{{"scopes",
                options.scopes.empty() ? std::vector<std::string>{"run", "read"} : options.scopes}};
  if (!options.tenant.empty()) {
    request["tenant"] = options.tenant;
  }
  if (!options.expires.empty()) {
    request["expires_in"] = GB_TRY(seconds_in(options.expires, "--expires"));
  }
  show_new(GB_TRY(daemon.ask("POST", "/v1/keys", request)), options.daemon.json);
  return 0;
}

Result<int> list(const KeyOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json listed = GB_TRY(daemon.ask(
      "GET", options.tenant.empty() ? "/v1/keys" : "/v1/keys?tenant=" + encode(options.tenant)));
  if (options.daemon.json) {
    std::cout << listed.dump(2) << "\n";
    return 0;
  }
  Table table({"ID", "TENANT", "SCOPES", "ENDS IN", "STATE", "CREATED", "EXPIRES", "LAST USED"});
  for (const Json& key : list_in(listed, "keys")) {
    const auto day = [&](const char* name) {
      const std::string time = text_in(key, name);
      return time.empty() ? std::string("-") : time.substr(0, 16);
    };
    table.add({text_in(key, "id"), text_in(key, "tenant"), scopes_of(key),
               "…" + text_in(key, "last_four"), text_in(key, "state"), day("created"),
               day("expires"), day("last_used")});
  }
  std::cout << table.text();
  return 0;
}

Result<int> rotate(const KeyOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  Json request = Json::object();
  if (!options.overlap.empty()) {
    request["overlap"] = GB_TRY(seconds_in(options.overlap, "--overlap"));
  }
  show_new(GB_TRY(daemon.ask("POST", "/v1/keys/" + encode(options.id) + "/rotate", request)),
           options.daemon.json);
  return 0;
}

Result<int> revoke(const KeyOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  (void)GB_TRY(daemon.ask("DELETE", "/v1/keys/" + encode(options.id)));
  return 0;
}

CLI::App* add_subcommand(CLI::App& group,
                         const char* name,
                         const char* words,
                         const char* footer,
                         const std::shared_ptr<KeyOptionsText>& options,
                         Result<int> (*run)(const KeyOptionsText&),
                         Action* action) {
  auto* const command = group.add_subcommand(name, words);
  command->footer(footer);
  add_daemon_options(*command, options->daemon);
  command->callback(
      [action, options, run] { *action = [options, run] { return ended(run(*options)); }; });
  return command;
}

}  // namespace

void add_key(CLI::App& app, bool described, Action* action) {
  auto* const group = app.add_subcommand(kKey.name, kKey.description);
  group->footer(kKeyFooter);
  group->require_subcommand(1);
  if (!described) {
    return;
  }
  auto options = std::make_shared<KeyOptionsText>();
  auto* const creating = add_subcommand(
      *group, "create", "Create a key and print it once",
      "Examples:\n  glovebox key create\n  glovebox key create --scope read --expires 30d\n"
      "  glovebox key create --tenant acme --scope run --json",
      options, create, action);
  creating
      ->add_option("--scope", options->scopes,
                   "Scope: read, run, admin or approve; repeatable [default: run and read]")
      ->type_name("SCOPE")
      ->check(CLI::IsMember({"read", "run", "admin", "approve"}))
      ->allow_extra_args(false);
  creating->add_option("--tenant", options->tenant, "Tenant that owns the key [default: default]")
      ->type_name("TENANT");
  creating
      ->add_option("--expires", options->expires,
                   "Lifetime of the key: 12h, 30d [default: never expires]")
      ->type_name("TIME");
  options = std::make_shared<KeyOptionsText>();
  add_subcommand(*group, "ls", "List keys, oldest first, without their secret values",
                 "Examples:\n  glovebox key ls\n  glovebox key ls --tenant acme --json", options,
                 list, action)
      ->add_option("--tenant", options->tenant, "Only keys of this tenant")
      ->type_name("TENANT");
  options = std::make_shared<KeyOptionsText>();
  auto* const rotating =
      add_subcommand(*group, "rotate", "Replace a key; the old key keeps working for a while",
                     "Prints the new key once.\n\nExamples:\n  glovebox key rotate ID --overlap 1h",
                     options, rotate, action);
  rotating->add_option("ID", options->id, "The key's id")->required();
  rotating
      ->add_option("--overlap", options->overlap,
                   "How long the old key keeps working [default: 1h]")
      ->type_name("TIME");
  options = std::make_shared<KeyOptionsText>();
  add_subcommand(*group, "revoke", "Revoke a key immediately",
                 "Examples:\n  glovebox key revoke ID", options, revoke, action)
      ->add_option("ID", options->id, "The key's id")
      ->required();
}

}  // namespace glovebox::cli
