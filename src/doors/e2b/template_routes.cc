// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_routes.h"

#include <algorithm>

#include "base/random.h"
#include "doors/e2b/page.h"
#include "doors/e2b/template_name.h"
#include "service/api/template_service.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kNamed = "snap-n-";
constexpr std::string_view kUnnamed = "snap-u-";

Error unsupported(const char* what) {
  return Error(ErrorCode::kUnsupported, std::string(what) + " are not supported");
}

Json snapshot_json(const SnapshotName& snapshot, const std::string& tenant) {
  Json names = Json::array();
  if (snapshot.named) {
    names.push_back(tenant + "/" + snapshot.name + ":default");
  }
  return {{"snapshotID", snapshot.text() + ":default"}, {"names", std::move(names)}};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string SnapshotName::text() const {
  return std::string(named ? kNamed : kUnnamed) + sandbox + "-" + name;
}

std::optional<SnapshotName> SnapshotName::parse(std::string_view text) {
  const bool named = text.starts_with(kNamed);
  if (!named && !text.starts_with(kUnnamed)) {
    return std::nullopt;
  }
  text.remove_prefix(kNamed.size());
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  return SnapshotName{.sandbox = std::string(text.substr(0, dash)),
                      .name = std::string(text.substr(dash + 1)),
                      .named = named};
}

Result<std::string> resolve_template(SandboxService& service,
                                     const Caller& caller,
                                     std::string_view wanted) {
  std::string name = GB_TRY(template_name(wanted));
  const auto names = GB_TRY(service.templates(caller));
  if (contains(names, name)) {
    return name;
  }
  for (const std::string& each : names) {
    const auto snapshot = SnapshotName::parse(each);
    if (snapshot && snapshot->named && snapshot->name == name) {
      return each;
    }
  }
  return name;
}

void TemplateRoutes::add_to(Routes& routes) {
  const auto handler = [this](auto method) {
    return [this, method](ControlCall& call) { return (this->*method)(call); };
  };
  const auto absent = [](const char* what) {
    return [what](ControlCall&) -> Result<void> { return unsupported(what); };
  };
  const auto none = [](ControlCall& call) -> Result<void> {
    answer(call.response, 200, Json::array());
    return {};
  };

  routes.add("POST", "sandboxes/*/snapshots", handler(&TemplateRoutes::make_snapshot));
  routes.add("GET", "snapshots", handler(&TemplateRoutes::list_snapshots));
  routes.add("GET", "templates", handler(&TemplateRoutes::list_templates));
  routes.add("GET", "v2/templates", handler(&TemplateRoutes::list_templates));
  routes.add("GET", "templates/aliases/*", handler(&TemplateRoutes::find_alias));
  routes.add("DELETE", "templates/tags", absent("template tags"));
  routes.add("POST", "templates/tags", absent("template tags"));
  routes.add("GET", "templates/*/tags", absent("template tags"));
  routes.add("DELETE", "templates/*", handler(&TemplateRoutes::remove_template));
  routes.add("PATCH", "v2/templates/*", absent("template updates"));
  routes.add("GET", "teams", none);
}

Result<void> TemplateRoutes::make_snapshot(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  SnapshotName snapshot{.sandbox = call.arguments[0], .name = {}, .named = false};
  if (const auto wanted = GB_TRY(text_member(body, "name")); wanted && !wanted->empty()) {
    snapshot.name = GB_TRY(template_name(*wanted));
    snapshot.named = true;
  } else {
    snapshot.name = random_hex(6);
  }
  // The service's own name is what it can be made from.
  const std::string made =
      GB_TRY(service_.snapshot(call.caller, call.arguments[0], snapshot.text()));
  Json json = snapshot_json(snapshot, call.caller.tenant);
  json["snapshotID"] = made + ":default";
  answer(call.response, 201, json);
  return {};
}

Result<void> TemplateRoutes::list_snapshots(ControlCall& call) {
  const std::string sandbox = call.target.parameter("sandboxID").value_or("");
  std::string name = call.target.parameter("name").value_or("");
  if (!name.empty()) {
    name = GB_TRY(template_name(name));
  }
  const std::size_t limit = GB_TRY(page_size(call.target));
  auto names = GB_TRY(service_.templates(call.caller));
  std::ranges::sort(names);
  const std::string after = call.target.parameter("nextToken").value_or("");
  Json items = Json::array();
  http::Headers headers;
  std::string last;
  for (const std::string& each : names) {
    const auto snapshot = SnapshotName::parse(each);
    const bool wanted = snapshot && each > after &&
                        (sandbox.empty() || snapshot->sandbox == sandbox) &&
                        (name.empty() || (snapshot->named && snapshot->name == name));
    if (!wanted) {
      continue;
    }
    if (items.size() == limit) {
      headers.emplace_back("x-next-token", last);
      break;
    }
    items.push_back(snapshot_json(*snapshot, call.caller.tenant));
    last = each;
  }
  answer(call.response, 200, items, std::move(headers));
  return {};
}

Result<void> TemplateRoutes::list_templates(ControlCall& call) {
  Json items = Json::array();
  for (const std::string& name : GB_TRY(service_.templates(call.caller))) {
    if (!SnapshotName::parse(name)) {
      items.push_back({{"templateID", name},
                       {"aliases", {name}},
                       {"names", {name}},
                       {"public", false},
                       {"buildStatus", "ready"}});
    }
  }
  answer(call.response, 200, items);
  return {};
}

Result<void> TemplateRoutes::find_alias(ControlCall& call) {
  const auto name = GB_TRY(resolve_template(service_, call.caller, call.arguments[0]));
  if (!contains(GB_TRY(service_.templates(call.caller)), name)) {
    return Error(ErrorCode::kNotFound, "template '" + call.arguments[0] + "' not found");
  }
  answer(call.response, 200, {{"templateID", name}, {"public", false}});
  return {};
}

Result<void> TemplateRoutes::remove_template(ControlCall& call) {
  const auto name = GB_TRY(resolve_template(service_, call.caller, call.arguments[0]));
  if (!contains(GB_TRY(service_.templates(call.caller)), name)) {
    return Error(ErrorCode::kNotFound, "template '" + call.arguments[0] + "' not found");
  }
  GB_TRY(service_.template_service().remove(call.caller, name));
  answer_empty(call.response, 204);
  return {};
}

}  // namespace glovebox::e2b
