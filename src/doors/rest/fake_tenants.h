// SPDX-License-Identifier: Apache-2.0
// For tests: one tenant, "acme", and one key of it, "k1".
#pragma once

#include <string>
#include <vector>

#include "service/api/tenant_service.h"

namespace glovebox::rest {

class FakeTenants final : public TenantService {
 public:
  TenantQuotas quotas;
  std::chrono::seconds overlap{};
  std::string revoked;

  Result<std::vector<TenantStatus>> tenants(const Caller&) override {
    return std::vector<TenantStatus>{status()};
  }
  Result<TenantStatus> tenant(const Caller&, std::string_view name) override {
    GB_TRY(known(name));
    return status();
  }
  Result<TenantStatus> create_tenant(const Caller&,
                                     const std::string&,
                                     const TenantQuotas& wanted) override {
    quotas = wanted;
    return status();
  }
  Result<TenantStatus> set_quotas(const Caller&,
                                  const std::string& name,
                                  const TenantQuotas& wanted) override {
    GB_TRY(known(name));
    quotas = wanted;
    return status();
  }
  Result<void> remove_tenant(const Caller&, std::string_view name) override { return known(name); }

  Result<std::vector<KeyStatus>> keys(const Caller&, std::string_view) override {
    return std::vector<KeyStatus>{key()};
  }
  Result<KeyGrant> create_key(const Caller&,
                              const std::string&,
                              const std::vector<std::string>&,
                              std::optional<std::chrono::milliseconds>) override {
    return KeyGrant{.key = "secret", .status = key()};
  }
  Result<KeyGrant> rotate_key(const Caller&,
                              const std::string& id,
                              std::chrono::seconds wanted) override {
    GB_TRY(known(id));
    overlap = wanted;
    return KeyGrant{.key = "secret", .status = key()};
  }
  Result<void> revoke_key(const Caller&, const std::string& id) override {
    GB_TRY(known(id));
    revoked = id;
    return {};
  }

 private:
  [[nodiscard]] TenantStatus status() const {
    return {.record = {.name = "acme", .created = {}, .quotas = quotas}, .used = {}};
  }
  static KeyStatus key() {
    KeyStatus status;
    status.record.id = "k1";
    status.record.tenant = "acme";
    status.record.scopes = {"run"};
    status.valid = true;
    return status;
  }
  static Result<void> known(std::string_view name) {
    return name == "acme" || name == "k1" ? Result<void>()
                                          : Error(ErrorCode::kNotFound, "there is no such one");
  }
};

}  // namespace glovebox::rest
