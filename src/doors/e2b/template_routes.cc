// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_routes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/digest/digest.h"
#include "base/random.h"
#include "doors/e2b/page.h"
#include "doors/e2b/template_name.h"
#include "doors/e2b/times.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kNamed = "snap-n-";
constexpr std::string_view kUnnamed = "snap-u-";

Error unsupported(const char* what) {
  return Error(ErrorCode::kUnsupported, std::string(what) + " are not supported");
}

std::string with_tag(const std::string& ours) {
  const TemplateName name = TemplateName::of(ours);
  return name.name + ":" + name.tag_or_default();
}

Json snapshot_json(const SnapshotName& snapshot, const std::string& tenant) {
  Json names = Json::array();
  if (snapshot.named) {
    names.push_back(tenant + "/" + with_tag(snapshot.name));
  }
  return {{"snapshotID", with_tag(snapshot.text())}, {"names", std::move(names)}};
}

// E2B's id of the build that a template came from, in the form of a UUID; a template that no client
// built has one made from its content.
std::string build_id(const TemplateInfo& info) {
  return info.build.empty() ? sha256_hex(info.content).substr(0, 32) : info.build;
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
  std::string name = GB_TRY(TemplateName::parse(wanted)).ours();
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
  routes.add("DELETE", "templates/tags", handler(&TemplateRoutes::remove_tags));
  routes.add("POST", "templates/tags", handler(&TemplateRoutes::assign_tags));
  routes.add("GET", "templates/*/tags", handler(&TemplateRoutes::list_tags));
  routes.add("DELETE", "templates/*", handler(&TemplateRoutes::remove_template));
  routes.add("PATCH", "v2/templates/*", absent("template updates"));
  routes.add("GET", "teams", none);
}

Result<void> TemplateRoutes::make_snapshot(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  SnapshotName snapshot{.sandbox = call.arguments[0], .name = {}, .named = false};
  if (const auto wanted = GB_TRY(text_member(body, "name")); wanted && !wanted->empty()) {
    snapshot.name = GB_TRY(TemplateName::parse(*wanted)).ours();
    snapshot.named = true;
  } else {
    snapshot.name = random_hex(6);
  }
  // New sandboxes can be made from the name that the service returns.
  const std::string made =
      GB_TRY(service_.snapshot(call.caller, call.arguments[0], snapshot.text()));
  Json json = snapshot_json(snapshot, call.caller.tenant);
  json["snapshotID"] = with_tag(made);
  answer(call.response, 201, json);
  return {};
}

Result<void> TemplateRoutes::list_snapshots(ControlCall& call) {
  const std::string sandbox = call.target.parameter("sandboxID").value_or("");
  std::optional<TemplateName> asked;
  if (const auto name = call.target.parameter("name").value_or(""); !name.empty()) {
    asked = GB_TRY(TemplateName::parse(name));
  }
  const auto is_asked = [&asked](const SnapshotName& snapshot) {
    const bool any_tag = asked && asked->tag.empty();
    return !asked || (snapshot.named && (any_tag ? TemplateName::of(snapshot.name).name
                                                 : snapshot.name) == asked->ours());
  };
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
                        (sandbox.empty() || snapshot->sandbox == sandbox) && is_asked(*snapshot);
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
  std::set<std::string> listed;
  for (const std::string& ours : GB_TRY(service_.templates(call.caller))) {
    const std::string name = TemplateName::of(ours).name;
    if (!SnapshotName::parse(name) && listed.insert(name).second) {
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

Result<std::vector<TemplateInfo>> TemplateRoutes::tagged(const Caller& caller,
                                                         const std::string& name) {
  std::vector<TemplateInfo> found = GB_TRY(service_.template_service().list(caller));
  std::erase_if(found, [&name](const TemplateInfo& info) {
    return TemplateName::of(info.name).name != name;
  });
  if (found.empty()) {
    return Error(ErrorCode::kNotFound, "template '" + name + "' not found");
  }
  return found;
}

// A template is there as soon as one of its tags is.
Result<void> TemplateRoutes::find_alias(ControlCall& call) {
  const TemplateName asked = GB_TRY(TemplateName::parse(call.arguments[0]));
  const std::string resolved = GB_TRY(resolve_template(service_, call.caller, call.arguments[0]));
  std::string name = asked.tag.empty() ? TemplateName::of(resolved).name : resolved;
  if (asked.tag.empty()) {
    (void)GB_TRY(tagged(call.caller, name));
  } else if (!contains(GB_TRY(service_.templates(call.caller)), name)) {
    return Error(ErrorCode::kNotFound, "template '" + call.arguments[0] + "' not found");
  }
  answer(call.response, 200, {{"templateID", std::move(name)}, {"public", false}});
  return {};
}

// Without a tag, removes the template with all its tags.
Result<void> TemplateRoutes::remove_template(ControlCall& call) {
  const TemplateName asked = GB_TRY(TemplateName::parse(call.arguments[0]));
  const std::string resolved = GB_TRY(resolve_template(service_, call.caller, call.arguments[0]));
  std::vector<std::string> names = {resolved};
  if (asked.tag.empty()) {
    names.clear();
    for (const TemplateInfo& info : GB_TRY(tagged(call.caller, TemplateName::of(resolved).name))) {
      names.push_back(info.name);
    }
  } else if (!contains(GB_TRY(service_.templates(call.caller)), resolved)) {
    return Error(ErrorCode::kNotFound, "template '" + call.arguments[0] + "' not found");
  }
  for (const std::string& name : names) {
    GB_TRY(service_.template_service().remove(call.caller, name));
  }
  answer_empty(call.response, 204);
  return {};
}

Result<void> TemplateRoutes::assign_tags(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const std::string target = GB_TRY(text_member(body, "target")).value_or("");
  const auto tags = GB_TRY(template_tags(GB_TRY(texts_member(body, "tags"))));
  if (tags.empty()) {
    return Error(ErrorCode::kInvalid, "at least one tag is required");
  }
  const std::string name = GB_TRY(resolve_template(service_, call.caller, target));
  const TemplateInfo info = GB_TRY(service_.template_service().tag(call.caller, name, tags));
  answer(call.response, 201, {{"buildID", build_id(info)}, {"tags", tags}});
  return {};
}

Result<void> TemplateRoutes::remove_tags(ControlCall& call) {
  const Json body = GB_TRY(call.body());
  const TemplateName asked =
      GB_TRY(TemplateName::parse(GB_TRY(text_member(body, "name")).value_or("")));
  const auto tags = GB_TRY(template_tags(GB_TRY(texts_member(body, "tags"))));
  if (!asked.tag.empty()) {
    return Error(ErrorCode::kInvalid, "'name' must have no tag", "put it into 'tags'");
  }
  if (tags.empty() || contains(tags, std::string(TemplateName::kDefaultTag))) {
    return Error(ErrorCode::kInvalid, tags.empty() ? "at least one tag is required"
                                                   : "the tag 'default' cannot be removed");
  }
  for (const TemplateInfo& info : GB_TRY(tagged(call.caller, asked.name))) {
    if (contains(tags, TemplateName::of(info.name).tag)) {
      GB_TRY(service_.template_service().remove(call.caller, info.name));
    }
  }
  answer_empty(call.response, 204);
  return {};
}

Result<void> TemplateRoutes::list_tags(ControlCall& call) {
  const TemplateName asked = GB_TRY(TemplateName::parse(call.arguments[0]));
  Json items = Json::array();
  for (const TemplateInfo& info : GB_TRY(tagged(call.caller, asked.name))) {
    items.push_back({{"tag", TemplateName::of(info.name).tag_or_default()},
                     {"buildID", build_id(info)},
                     {"createdAt", to_rfc3339(info.created)}});
  }
  answer(call.response, 200, items);
  return {};
}

}  // namespace glovebox::e2b
