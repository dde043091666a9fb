// SPDX-License-Identifier: Apache-2.0
// The tenants of a LocalService, for its administrators.
#pragma once

#include "service/api/tenant_service.h"
#include "service/tenants/tenants.h"

namespace glovebox {

// What it is given must outlive it.
class LocalTenants final : public TenantService {
 public:
  LocalTenants(Tenants& tenants, const QuotaBook& quotas) : tenants_(tenants), quotas_(quotas) {}

  Result<std::vector<TenantStatus>> tenants(const Caller& caller) override;
  Result<TenantStatus> tenant(const Caller& caller, std::string_view name) override;
  Result<TenantStatus> create_tenant(const Caller& caller,
                                     const std::string& name,
                                     const TenantQuotas& quotas) override;
  Result<TenantStatus> set_quotas(const Caller& caller,
                                  const std::string& name,
                                  const TenantQuotas& quotas) override;
  Result<void> remove_tenant(const Caller& caller, std::string_view name) override;
  Result<std::vector<KeyStatus>> keys(const Caller& caller, std::string_view tenant) override;
  Result<KeyGrant> create_key(const Caller& caller,
                              const std::string& tenant,
                              const std::vector<std::string>& scopes,
                              std::optional<std::chrono::milliseconds> lifetime) override;
  Result<KeyGrant> rotate_key(const Caller& caller,
                              const std::string& id,
                              std::chrono::seconds overlap) override;
  Result<void> revoke_key(const Caller& caller, const std::string& id) override;

 private:
  KeyStatus status_of(ApiKeyRecord record) const;

  Tenants& tenants_;
  const QuotaBook& quotas_;
};

}  // namespace glovebox
