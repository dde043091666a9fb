// SPDX-License-Identifier: Apache-2.0
// TenantService: tenants, their quotas and their keys, for those who rule the daemon.
//
// A caller with the scope "admin" rules all tenants; any other is refused (service/guarded/).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/api/sandbox_service.h"
#include "service/tenants/quota_book.h"
#include "store/api_key_records.h"
#include "store/tenant_records.h"

namespace glovebox {

struct TenantStatus {
  TenantRecord record;
  QuotaUse used;
};

struct KeyStatus {
  ApiKeyRecord record;                  // Without its hash.
  std::optional<SystemTime> last_used;  // Since this daemon started.
  bool valid = false;                   // Neither revoked nor over.
};

// A key that was just made: the only time that it is shown.
struct KeyGrant {
  std::string key;
  KeyStatus status;
};

// Calls may come from any thread.
class TenantService {
 public:
  virtual ~TenantService() = default;

  // By name.
  virtual Result<std::vector<TenantStatus>> tenants(const Caller& caller) = 0;
  virtual Result<TenantStatus> tenant(const Caller& caller, std::string_view name) = 0;
  // kConflict if it exists, kInvalid if it is not a valid name.
  virtual Result<TenantStatus> create_tenant(const Caller& caller,
                                             const std::string& name,
                                             const TenantQuotas& quotas) = 0;
  // Holds from the next request on; what the tenant already has stays.
  virtual Result<TenantStatus> set_quotas(const Caller& caller,
                                          const std::string& name,
                                          const TenantQuotas& quotas) = 0;
  // With its keys. kConflict while it has sandboxes or volumes, or is the default one.
  virtual Result<void> remove_tenant(const Caller& caller, std::string_view name) = 0;

  // Of one tenant, or of all for an empty name; oldest first.
  virtual Result<std::vector<KeyStatus>> keys(const Caller& caller, std::string_view tenant) = 0;
  virtual Result<KeyGrant> create_key(const Caller& caller,
                                      const std::string& tenant,
                                      const std::vector<std::string>& scopes,
                                      std::optional<std::chrono::milliseconds> lifetime) = 0;
  // A new one with the same scopes and expiry; the old one keeps working for `overlap`.
  virtual Result<KeyGrant> rotate_key(const Caller& caller,
                                      const std::string& id,
                                      std::chrono::seconds overlap) = 0;
  virtual Result<void> revoke_key(const Caller& caller, const std::string& id) = 0;
};

}  // namespace glovebox
