// SPDX-License-Identifier: Apache-2.0
// glovebox tenant: a daemon's tenants. Needs a key with the scope admin, or the daemon's socket.
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <memory>

#include "base/bytes.h"
#include "base/text.h"
#include "cli/daemon/commands.h"
#include "cli/daemon/daemon_client.h"
#include "cli/daemon/table.h"

namespace glovebox::cli {
namespace {

constexpr const char* kTenantFooter = R"(Examples:
  glovebox tenant create acme --sandboxes 20 --memory 16G --rate 50
  glovebox key create --tenant acme
  glovebox tenant ls
  glovebox tenant quota acme --sandboxes 40 --memory none
  glovebox tenant rm acme)";

constexpr const char* kNone = "none";

// One quota: its option, its field, and whether it counts bytes.
struct Quota {
  const char* option;
  const char* field;
  const char* words;
  bool bytes;
};
constexpr Quota kQuotas[] = {
    {"--sandboxes", "sandboxes", "Concurrent sandboxes", false},
    {"--memory", "memory", "Total memory of all sandboxes: 16G", true},
    {"--cpus", "cpus", "Total CPUs of all sandboxes", false},
    {"--disk", "disk", "Total disk space of all sandboxes: 64G", true},
    {"--executions", "executions", "Concurrent executions", false},
    {"--rate", "requests_per_second", "Requests per second", false},
    {"--burst", "burst", "Burst size of requests above that rate", false},
};

struct TenantOptionsText {
  DaemonOptionsText daemon;
  std::string name;
  std::string quotas[std::size(kQuotas)];
};

Result<Json> quotas_json(const TenantOptionsText& options) {
  Json json = Json::object();
  for (std::size_t i = 0; i < std::size(kQuotas); ++i) {
    const std::string& text = options.quotas[i];
    const Quota& quota = kQuotas[i];
    if (text.empty()) {
      continue;
    }
    if (text == kNone) {
      json[quota.field] = nullptr;
      continue;
    }
    if (quota.bytes) {
      const auto bytes = parse_bytes(text);
      if (!bytes) {
        return Error(bytes.error()).within(quota.option);
      }
      json[quota.field] = bytes->count;
      continue;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
      return Error(ErrorCode::kInvalid,
                   std::string(quota.option) + ": invalid number '" + printable(text) + "'",
                   "use a number, or 'none' for no limit");
    }
    const auto whole = static_cast<std::uint64_t>(number);
    json[quota.field] = static_cast<double>(whole) == number ? Json(whole) : Json(number);
  }
  return json;
}

std::string shown(const Json& object, const Quota& quota) {
  if (!object.is_object() || !object.contains(quota.field) || !object[quota.field].is_number()) {
    return "-";
  }
  return quota.bytes ? to_string(Bytes{static_cast<std::uint64_t>(number_in(object, quota.field))})
                     : object[quota.field].dump();
}

void show(const Json& tenant, bool json) {
  if (json) {
    std::cout << tenant.dump(2) << "\n";
    return;
  }
  Table table({"QUOTA", "LIMIT", "USED"});
  for (const Quota& quota : kQuotas) {
    table.add({quota.field, shown(tenant.value("quotas", Json::object()), quota),
               shown(tenant.value("used", Json::object()), quota)});
  }
  std::cout << printable(text_in(tenant, "name")) << "\n" << table.text();
}

Result<int> create(const TenantOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json quotas = GB_TRY(quotas_json(options));
  const Json request{{"name", options.name}, {"quotas", quotas}};
  show(GB_TRY(daemon.ask("POST", "/v1/tenants", request)), options.daemon.json);
  return 0;
}

Result<int> list(const TenantOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const Json listed = GB_TRY(daemon.ask("GET", "/v1/tenants"));
  if (options.daemon.json) {
    std::cout << listed.dump(2) << "\n";
    return 0;
  }
  std::vector<std::string> heads{"NAME", "CREATED"};
  for (const Quota& quota : kQuotas) {
    heads.emplace_back(quota.option + 2);
  }
  Table table(heads);
  for (const Json& tenant : list_in(listed, "tenants")) {
    if (!tenant.is_object()) {
      continue;
    }
    const Json quotas = tenant.value("quotas", Json::object());
    const Json used = tenant.value("used", Json::object());
    std::vector<std::string> row{text_in(tenant, "name"), text_in(tenant, "created").substr(0, 10)};
    for (const Quota& quota : kQuotas) {
      const std::string now = shown(used, quota);
      const std::string limit = shown(quotas, quota);
      row.push_back(now == "-" ? limit : now + " / " + limit);
    }
    table.add(std::move(row));
  }
  std::cout << table.text();
  return 0;
}

Result<int> quota(const TenantOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  const std::string path = "/v1/tenants/" + encode(options.name);
  const Json changes = GB_TRY(quotas_json(options));
  show(changes.empty() ? GB_TRY(daemon.ask("GET", path))
                       : GB_TRY(daemon.ask("PATCH", path, {{"quotas", changes}})),
       options.daemon.json);
  return 0;
}

Result<int> remove(const TenantOptionsText& options) {
  DaemonClient daemon = GB_TRY(DaemonClient::make(options.daemon));
  (void)GB_TRY(daemon.ask("DELETE", "/v1/tenants/" + encode(options.name)));
  return 0;
}

struct TenantCommand {
  const char* name;
  const char* words;
  const char* footer;
  Result<int> (*run)(const TenantOptionsText&);
  bool named;
  bool quotas;
};
constexpr TenantCommand kCommands[] = {
    {"create", "Create a tenant",
     "Quotas that are not set are unlimited.\n\nExamples:\n  glovebox tenant create acme "
     "--sandboxes "
     "20 "
     "--memory 16G",
     create, true, true},
    {"ls", "List tenants with their usage and quotas", "Examples:\n  glovebox tenant ls", list,
     false, false},
    {"quota", "Show or change a tenant's quotas; changes apply immediately",
     "'none' removes a limit.\n\nExamples:\n  glovebox tenant quota acme\n  glovebox tenant "
     "quota acme --sandboxes 40 --memory none",
     quota, true, true},
    {"rm", "Remove a tenant and its keys; end its sandboxes first",
     "Examples:\n  glovebox tenant rm acme", remove, true, false},
};

}  // namespace

void add_tenant(CLI::App& app, bool described, Action* action) {
  auto* const group = app.add_subcommand(kTenant.name, kTenant.description);
  group->footer(kTenantFooter);
  group->require_subcommand(1);
  if (!described) {
    return;
  }
  for (const TenantCommand& what : kCommands) {
    auto* const command = group->add_subcommand(what.name, what.words);
    command->footer(what.footer);
    auto options = std::make_shared<TenantOptionsText>();
    if (what.named) {
      command->add_option("NAME", options->name, "The tenant")->required();
    }
    for (std::size_t i = 0; what.quotas && i < std::size(kQuotas); ++i) {
      command->add_option(kQuotas[i].option, options->quotas[i], kQuotas[i].words)
          ->type_name(kQuotas[i].bytes ? "SIZE" : "N")
          ->group("Quotas ('none': no limit)");
    }
    add_daemon_options(*command, options->daemon);
    command->callback([action, options, &what] {
      *action = [options, &what] { return ended(what.run(*options)); };
    });
  }
}

}  // namespace glovebox::cli
