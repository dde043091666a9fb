// SPDX-License-Identifier: Apache-2.0
#include "service/local/local_tenants.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace glovebox {

Result<std::vector<TenantStatus>> LocalTenants::tenants(const Caller&) {
  std::vector<TenantStatus> all;
  for (TenantRecord& record : tenants_.tenants()) {
    QuotaUse used = quotas_.used(record.name);
    all.push_back({.record = std::move(record), .used = used});
  }
  return all;
}

Result<TenantStatus> LocalTenants::tenant(const Caller& caller, std::string_view name) {
  for (TenantStatus& status : GB_TRY(tenants(caller))) {
    if (status.record.name == name) {
      return std::move(status);
    }
  }
  return Error(ErrorCode::kNotFound, "no such tenant", "list the tenants with GET /v1/tenants");
}

Result<TenantStatus> LocalTenants::create_tenant(const Caller& caller,
                                                 const std::string& name,
                                                 const TenantQuotas& quotas) {
  GB_TRY(tenants_.create_tenant(name, quotas));
  return tenant(caller, name);
}

Result<TenantStatus> LocalTenants::set_quotas(const Caller& caller,
                                              const std::string& name,
                                              const TenantQuotas& quotas) {
  GB_TRY(tenants_.set_quotas(name, quotas));
  return tenant(caller, name);
}

Result<void> LocalTenants::remove_tenant(const Caller&, std::string_view name) {
  return tenants_.remove_tenant(name);
}

KeyStatus LocalTenants::status_of(ApiKeyRecord record) const {
  record.hash.clear();
  KeyStatus status{.record = std::move(record), .last_used = {}};
  status.last_used = tenants_.last_use(status.record.id);
  status.valid =
      !status.record.revoked &&
      (!status.record.expires || std::chrono::system_clock::now() < *status.record.expires);
  return status;
}

Result<std::vector<KeyStatus>> LocalTenants::keys(const Caller&, std::string_view tenant) {
  std::vector<KeyStatus> all;
  for (const TenantRecord& each : tenants_.tenants()) {
    if (!tenant.empty() && each.name != tenant) {
      continue;
    }
    for (ApiKeyRecord& record : GB_TRY(tenants_.keys(each.name))) {
      all.push_back(status_of(std::move(record)));
    }
  }
  if (all.empty() && !tenant.empty()) {
    (void)GB_TRY(tenants_.keys(tenant));  // Says so when there is no such tenant.
  }
  std::ranges::sort(all, [](const KeyStatus& left, const KeyStatus& right) {
    return std::tie(left.record.created, left.record.id) <
           std::tie(right.record.created, right.record.id);
  });
  return all;
}

Result<KeyGrant> LocalTenants::create_key(const Caller&,
                                          const std::string& tenant,
                                          const std::vector<std::string>& scopes,
                                          std::optional<std::chrono::milliseconds> lifetime) {
  const auto expires =
      lifetime ? std::optional(std::chrono::system_clock::now() + *lifetime) : std::nullopt;
  NewApiKey made = GB_TRY(tenants_.create_key(tenant, scopes, expires));
  return KeyGrant{.key = std::move(made.key), .status = status_of(std::move(made.record))};
}

Result<KeyGrant> LocalTenants::rotate_key(const Caller&,
                                          const std::string& id,
                                          std::chrono::seconds overlap) {
  const std::string tenant = GB_TRY(tenants_.tenant_of_key(id));
  NewApiKey made = GB_TRY(tenants_.rotate_key(tenant, id, overlap));
  return KeyGrant{.key = std::move(made.key), .status = status_of(std::move(made.record))};
}

Result<void> LocalTenants::revoke_key(const Caller&, const std::string& id) {
  const std::string tenant = GB_TRY(tenants_.tenant_of_key(id));
  return tenants_.revoke_key(tenant, id);
}

}  // namespace glovebox
