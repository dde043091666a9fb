// SPDX-License-Identifier: Apache-2.0
// The audit journal, and emergency stops.
#include <charconv>

#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"

namespace glovebox::rest {
namespace {

// Of names that records are filtered by.
constexpr std::size_t kMostName = 128;

Result<std::uint64_t> number_of(const Call& call,
                                const char* name,
                                std::uint64_t least,
                                std::uint64_t most,
                                std::uint64_t usual) {
  if (!call.has_parameter(name)) {
    return usual;
  }
  const std::string text = call.parameter(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    return Error(ErrorCode::kInvalid, "'" + std::string(name) + "' must be a number from " +
                                          std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

Result<std::string> name_of(const Call& call, const char* name) {
  std::string text = call.parameter(name);
  if (text.size() > kMostName) {
    return Error(ErrorCode::kInvalid, "'" + std::string(name) + "' is longer than " +
                                          std::to_string(kMostName) + " bytes");
  }
  return text;
}

Json to_json(const audit::Record& record) {
  const audit::Entry& entry = record.entry;
  Json json{{"seq", record.number}, {"time", record.time}, {"action", entry.action}};
  const auto add = [&json](const char* name, const std::string& text) {
    if (!text.empty()) {
      json[name] = text;
    }
  };
  add("tenant", entry.tenant);
  add("key", entry.key);
  add("door", entry.door);
  add("sandbox", entry.sandbox);
  add("context", entry.context);
  add("subject", entry.subject);
  add("decision", entry.decision);
  add("result", entry.result);
  json["details"] = Json::parse(entry.details, nullptr, false);
  json["hash"] = record.hash;
  return json;
}

Result<StopScope> scope_of(const std::string& tenant, const std::string& sandbox) {
  if (!tenant.empty() && !sandbox.empty()) {
    return Error(ErrorCode::kInvalid, "an emergency stop has one scope",
                 "name a tenant, or a sandbox, or neither for everything");
  }
  if (!tenant.empty()) {
    return StopScope{.kind = StopScope::Kind::kTenant, .name = tenant};
  }
  return sandbox.empty() ? StopScope()
                         : StopScope{.kind = StopScope::Kind::kSandbox, .name = sandbox};
}

Json to_json(const EmergencyStop& stop) {
  Json json{{"scope", to_string(stop.scope.kind)}};
  if (!stop.scope.name.empty()) {
    json["name"] = stop.scope.name;
  }
  json["by_tenant"] = stop.by_tenant;
  json["by_key"] = stop.by_key.empty() ? Json(nullptr) : Json(stop.by_key);
  json["at"] = to_text(stop.at);
  return json;
}

}  // namespace

Result<void> list_audit(Call& call) {
  GB_TRY(call.only_parameters({"after", "limit", "newest", "action", "sandbox"}));
  audit::Query query;
  query.after = GB_TRY(number_of(call, "after", 0, INT64_MAX, 0));
  query.limit = GB_TRY(number_of(call, "limit", 1, audit::Query::kMostLimit, query.limit));
  if (call.has_parameter("newest")) {
    query.newest = GB_TRY(number_of(call, "newest", 1, audit::Query::kMostLimit, 1));
  }
  query.action = GB_TRY(name_of(call, "action"));
  query.sandbox = GB_TRY(name_of(call, "sandbox"));
  const audit::Page page = GB_TRY(call.service.audit_records(call.caller, query));
  Json records = Json::array();
  for (const audit::Record& record : page.records) {
    records.push_back(to_json(record));
  }
  Json answer{{"records", std::move(records)}};
  if (page.next) {
    answer["next"] = std::to_string(*page.next);
  }
  call.send_json(200, "audit", answer);
  return {};
}

Result<void> emergency_stop(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const std::string tenant = fields.text("tenant", kMostName).value_or("");
  const std::string sandbox = fields.text("sandbox", kMostName).value_or("");
  GB_TRY(fields.done());
  const StopScope scope = GB_TRY(scope_of(tenant, sandbox));
  const std::size_t stopped = GB_TRY(call.service.emergency_stop(call.caller, scope));
  call.send_json(200, "stop", {{"stopped", stopped}});
  return {};
}

Result<void> lift_emergency_stop(Call& call) {
  GB_TRY(call.only_parameters({"tenant", "sandbox"}));
  const std::string tenant = GB_TRY(name_of(call, "tenant"));
  const std::string sandbox = GB_TRY(name_of(call, "sandbox"));
  const StopScope scope = GB_TRY(scope_of(tenant, sandbox));
  GB_TRY(call.service.lift_emergency_stop(call.caller, scope));
  call.send_nothing();
  return {};
}

Result<void> list_emergency_stops(Call& call) {
  GB_TRY(call.only_parameters({}));
  Json stops = Json::array();
  for (const EmergencyStop& stop : GB_TRY(call.service.emergency_stops(call.caller))) {
    stops.push_back(to_json(stop));
  }
  call.send_json(200, "stops", {{"stops", std::move(stops)}});
  return {};
}

}  // namespace glovebox::rest
