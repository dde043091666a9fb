// SPDX-License-Identifier: Apache-2.0
#include "service/guarded/deeds.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "service/guarded/replay_records.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostListed = 32;

// The hosts that rules let a sandbox reach, and how many secrets go there.
Json network_of(const NetworkRules& rules) {
  return {{"rules", rules != NetworkRules()}, {"secrets", secrets_of(rules.credentials).size()}};
}

void add_code(Json& details, const char* name, std::string_view text, const AuditTrail* trail) {
  if (trail != nullptr) {
    trail->add_text(details, name, text);
  }
}

// What `glovebox replay` needs to repeat it.
template <typename Request>
void add_inputs(Json& details, const Request& request, const AuditTrail* trail) {
  if (trail != nullptr && trail->records_inputs()) {
    trail->add_request(details, request_body(request));
  }
}

void add_dry_run(Json& details, const DryRunWish& wish) {
  if (wish.wanted) {
    details["dry_run"] = true;
    details["network_open"] = wish.network;
  }
}

std::string clipped(std::string_view text) { return to_utf8(text.substr(0, audit::kMostText)); }

Json listed(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) {
    if (list.size() == kMostListed) {
      break;
    }
    list.push_back(to_utf8(std::string_view(name).substr(0, 128)));
  }
  return list;
}

}  // namespace

Deed deed(std::string_view action, std::string_view sandbox, std::string_view context) {
  return {.action = std::string(action),
          .sandbox = std::string(sandbox),
          .context = std::string(context)};
}

Deed deed_about(std::string_view action, std::string_view subject) {
  return {.action = std::string(action), .subject = std::string(subject)};
}

Deed freeing(Deed deed) {
  deed.frees = true;
  return deed;
}

Deed deed_of(const SandboxRequest& request, const AuditTrail* trail) {
  Deed made{.action = "sandbox.create",
            .subject = request.template_name,
            .details = {{"timeout_ms", request.timeout.count()},
                        {"root", request.as_root},
                        {"nested", request.nested},
                        {"disk", request.storage == Storage::kDisk},
                        {"volumes", request.volumes.size()},
                        {"network", network_of(request.network)}}};
  if (!request.image.empty()) {
    made.details["image"] = clipped(request.image);
  }
  add_inputs(made.details, request, trail);
  return made;
}

Deed deed_of(std::string_view sandbox, const ContextRequest& request, const AuditTrail* trail) {
  Deed made = deed("context.create", sandbox);
  made.subject = request.language;
  add_inputs(made.details, request, trail);
  return made;
}

Deed deed_of(std::string_view sandbox, const SandboxChange& change) {
  Json fields = Json::array();
  const auto named = [&fields](const char* name, bool is) {
    if (is) {
      fields.push_back(name);
    }
  };
  named("timeout", change.timeout.has_value());
  named("on_timeout", change.on_timeout.has_value());
  named("auto_resume", change.auto_resume.has_value());
  named("metadata", change.metadata.has_value());
  named("network", change.network.has_value());
  Json details{{"fields", std::move(fields)}};
  if (change.network) {
    details["network"] = network_of(*change.network);
  }
  return {.action = "sandbox.change",
          .sandbox = std::string(sandbox),
          .details = std::move(details)};
}

Deed deed_of(std::string_view sandbox,
             std::string_view context,
             const ExecuteRequest& request,
             const AuditTrail* trail) {
  Deed made = deed("execute", sandbox, context);
  add_code(made.details, "code", request.code, trail);
  add_dry_run(made.details, request.dry_run);
  if (!request.tools.tools.empty()) {
    std::vector<std::string> names;
    for (const auto& tool : request.tools.tools) {
      names.push_back(tool.name);
    }
    made.details["tools"] = listed(names);
  }
  add_inputs(made.details, request, trail);
  return made;
}

Deed deed_of(std::string_view sandbox, const PackagesRequest& request) {
  Deed made = deed("packages.install", sandbox);
  made.details["packages"] = listed(request.packages);
  made.details["count"] = request.packages.size();
  return made;
}

Deed deed_of(const RunRequest& request, const AuditTrail* trail) {
  Deed made = deed_about("run", request.language);
  add_code(made.details, "code", request.code, trail);
  made.details["template"] = clipped(request.template_name);
  if (!request.image.empty()) {
    made.details["image"] = clipped(request.image);
  }
  made.details["files"] = request.files.size();
  made.details["root"] = request.as_root;
  made.details["nested"] = request.nested;
  made.details["network"] = network_of(request.network);
  if (!request.replay_network.empty()) {
    made.details["replay_network"] = clipped(request.replay_network);
  }
  add_inputs(made.details, request, trail);
  return made;
}

Deed deed_of(const JudgeRequest& request, const AuditTrail* trail) {
  Deed made = deed_about("judge", request.program.language);
  add_code(made.details, "code", request.program.code, trail);
  made.details["cases"] = request.cases.size();
  return made;
}

Deed deed_of(std::string_view sandbox, const ProcessRequest& request, const AuditTrail* trail) {
  Deed made = deed("process.start", sandbox);
  const std::vector<std::string>& argv = request.command.argv;
  std::string command;
  for (const std::string& word : argv) {
    command += word;
    command += '\0';
  }
  made.subject = argv.empty() ? std::string() : clipped(argv.front());
  add_code(made.details, "command", command, trail);
  made.details["terminal"] = request.terminal.has_value();
  add_dry_run(made.details, request.dry_run);
  if (!request.user.empty()) {
    made.details["user"] = clipped(request.user);
  }
  return made;
}

Deed deed_of(const Recipe& recipe) {
  Deed made = deed_about("template.build", recipe.name);
  made.details = {{"base", clipped(recipe.base)},
                  {"dockerfile", recipe.dockerfile.has_value()},
                  {"debootstrap", recipe.debootstrap.has_value()},
                  {"image", recipe.image.has_value()},
                  {"registry", clipped(recipe.registry)},
                  {"steps", recipe.steps.size()},
                  {"packages", listed(recipe.packages)}};
  return made;
}

Deed deed_of_tags(std::string_view template_name, const std::vector<std::string>& tags) {
  Deed made = deed_about("template.tag", template_name);
  made.details["tags"] = listed(tags);
  return made;
}

Deed deed_of(const StopScope& scope) {
  Deed made = deed("emergency_stop.stop");
  (scope.kind == StopScope::Kind::kSandbox ? made.sandbox : made.subject) = scope.name;
  made.details["scope"] = to_string(scope.kind);
  return made;
}

}  // namespace glovebox
