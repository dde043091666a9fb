// SPDX-License-Identifier: Apache-2.0
// Tenants, their quotas and their keys.
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "service/api/tenant_service.h"

namespace glovebox::rest {
namespace {

// Time for a key's users to switch to the new one.
constexpr std::chrono::hours kUsualOverlap{1};
// Larger numbers make no sense as a quota, and would not fit the database's.
constexpr std::uint64_t kMostCount = 1'000'000'000;
constexpr double kMostNumber = 1e9;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::optional<Bytes>& value) {
  return value ? Json(value->count) : Json(nullptr);
}
Json or_null(const std::optional<SystemTime>& value) {
  return value ? Json(to_text(*value)) : Json(nullptr);
}

Json to_json(const TenantStatus& status) {
  const TenantQuotas& quotas = status.record.quotas;
  return {{"name", status.record.name},
          {"created", to_text(status.record.created)},
          {"quotas",
           {{"sandboxes", or_null(quotas.sandboxes)},
            {"memory", or_null(quotas.memory)},
            {"cpus", or_null(quotas.cpus)},
            {"disk", or_null(quotas.disk)},
            {"executions", or_null(quotas.executions)},
            {"requests_per_second", or_null(quotas.requests_per_second)},
            {"burst", or_null(quotas.burst)}}},
          {"used",
           {{"sandboxes", status.used.sandboxes},
            {"memory", status.used.memory.count},
            {"cpus", status.used.cpus},
            {"disk", status.used.disk.count}}}};
}

Json to_json(const KeyStatus& status) {
  const ApiKeyRecord& record = status.record;
  return {{"id", record.id},
          {"tenant", record.tenant},
          {"scopes", record.scopes},
          {"last_four", record.last_four},
          {"state", record.revoked ? "revoked"
                    : status.valid ? "valid"
                                   : "expired"},
          {"created", to_text(record.created)},
          {"expires", or_null(record.expires)},
          {"revoked", or_null(record.revoked)},
          {"last_used", or_null(status.last_used)}};
}

Json to_json(const KeyGrant& grant) {
  Json json = to_json(grant.status);
  json["key"] = grant.key;
  return json;
}

void send_secret(Call& call, const KeyGrant& grant) {
  call.send_json(201, "key", to_json(grant), {{"Cache-Control", "no-store"}});
}

std::optional<double> positive(Fields& fields, const char* name) {
  const auto number = fields.number(name);
  if (number && (*number < 0 || *number > kMostNumber)) {
    fields.refuse(name, "expected a number from 0 to 1e9");
  }
  return number;
}

// What `body` names is set, null takes a limit away; the rest stays as it is.
Result<TenantQuotas> read_quotas(const Json& body, TenantQuotas quotas) {
  Fields fields(body, "quotas.");
  const auto named = [&body](const char* name) { return body.contains(name); };
  const auto bytes = [&fields](const char* name) -> std::optional<Bytes> {
    const auto size = fields.size(name);
    return size ? std::optional(Bytes{*size}) : std::nullopt;
  };
  TenantQuotas said;
  said.sandboxes = fields.count("sandboxes", 0, kMostCount);
  said.memory = bytes("memory");
  said.cpus = positive(fields, "cpus");
  said.disk = bytes("disk");
  said.executions = fields.count("executions", 0, kMostCount);
  said.requests_per_second = positive(fields, "requests_per_second");
  said.burst = positive(fields, "burst");
  GB_TRY(fields.done());
  const auto take = [&named](const char* name, auto& into, const auto& value) {
    if (named(name)) {
      into = value;
    }
  };
  take("sandboxes", quotas.sandboxes, said.sandboxes);
  take("memory", quotas.memory, said.memory);
  take("cpus", quotas.cpus, said.cpus);
  take("disk", quotas.disk, said.disk);
  take("executions", quotas.executions, said.executions);
  take("requests_per_second", quotas.requests_per_second, said.requests_per_second);
  take("burst", quotas.burst, said.burst);
  return quotas;
}

}  // namespace

Result<void> list_tenants(Call& call) {
  GB_TRY(call.only_parameters({}));
  Json tenants = Json::array();
  for (const TenantStatus& status : GB_TRY(call.service.tenants().tenants(call.caller))) {
    tenants.push_back(to_json(status));
  }
  call.send_json(200, "tenants", {{"tenants", std::move(tenants)}});
  return {};
}

Result<void> create_tenant(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const std::string name = fields.required_text("name", 64);
  const Json quotas = fields.object("quotas").value_or(Json::object());
  GB_TRY(fields.done());
  const TenantQuotas wanted = GB_TRY(read_quotas(quotas, {}));
  call.send_json(201, "tenant",
                 to_json(GB_TRY(call.service.tenants().create_tenant(call.caller, name, wanted))));
  return {};
}

Result<void> show_tenant(Call& call) {
  call.send_json(200, "tenant",
                 to_json(GB_TRY(call.service.tenants().tenant(call.caller, call.parameters[0]))));
  return {};
}

Result<void> change_tenant(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const Json quotas = fields.object("quotas").value_or(Json::object());
  GB_TRY(fields.done());
  const std::string& name = call.parameters[0];
  const TenantStatus before = GB_TRY(call.service.tenants().tenant(call.caller, name));
  const TenantQuotas wanted = GB_TRY(read_quotas(quotas, before.record.quotas));
  call.send_json(200, "tenant",
                 to_json(GB_TRY(call.service.tenants().set_quotas(call.caller, name, wanted))));
  return {};
}

Result<void> delete_tenant(Call& call) {
  GB_TRY(call.service.tenants().remove_tenant(call.caller, call.parameters[0]));
  call.send_nothing();
  return {};
}

Result<void> list_keys(Call& call) {
  GB_TRY(call.only_parameters({"tenant"}));
  Json keys = Json::array();
  for (const KeyStatus& status :
       GB_TRY(call.service.tenants().keys(call.caller, call.parameter("tenant")))) {
    keys.push_back(to_json(status));
  }
  call.send_json(200, "keys", {{"keys", std::move(keys)}});
  return {};
}

Result<void> create_key(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const std::string tenant = fields.text("tenant", 64).value_or(std::string(kDefaultTenant));
  const auto scopes = fields.texts("scopes", 16).value_or(std::vector<std::string>());
  const auto lifetime = fields.duration("expires_in");
  GB_TRY(fields.done());
  send_secret(call,
              GB_TRY(call.service.tenants().create_key(call.caller, tenant, scopes, lifetime)));
  return {};
}

Result<void> rotate_key(Call& call) {
  Fields fields = GB_TRY(call.fields());
  const auto overlap = fields.duration("overlap").value_or(kUsualOverlap);
  GB_TRY(fields.done());
  send_secret(call, GB_TRY(call.service.tenants().rotate_key(
                        call.caller, call.parameters[0],
                        std::chrono::ceil<std::chrono::seconds>(overlap))));
  return {};
}

Result<void> revoke_key(Call& call) {
  GB_TRY(call.service.tenants().revoke_key(call.caller, call.parameters[0]));
  call.send_nothing();
  return {};
}

}  // namespace glovebox::rest
