// SPDX-License-Identifier: Apache-2.0
// Tenants: who may use this daemon, and the keys by which it knows them.
//
// All keys are held in memory, so that a request costs one hash and no disk, a flood of wrong keys
// reaches no database, and a revocation is seen by the next request.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "service/tenants/api_key.h"
#include "store/api_key_records.h"
#include "store/tenant_records.h"

namespace glovebox {

// Names are 1 to 64 of a-z, 0-9, '-' and '_'; fails with kInvalid for others.
Result<void> check_tenant_name(std::string_view name);

using WallClock = std::function<SystemTime()>;

// Who holds a key.
struct KeyHolder {
  std::string tenant;
  std::vector<std::string> scopes;
  std::string key;  // The id of it.
  friend bool operator==(const KeyHolder&, const KeyHolder&) = default;
};

struct NewApiKey {
  std::string key;  // Shown to its owner now, and never again.
  ApiKeyRecord record;
};

// Safe to use from any thread, except open(). Lives no longer than the database.
class Tenants {
 public:
  // "run" uses sandboxes, "read" looks at them, "admin" rules the daemon, "approve" agrees to what
  // policies ask about.
  static constexpr std::array<std::string_view, 4> kScopes = {"run", "read", "admin", "approve"};
  // Valid at the same time.
  static constexpr std::size_t kMostKeysOfTenant = 1'000;

  static Result<std::unique_ptr<Tenants>> open(Database& database, WallClock clock);

  // The holder; the same kRefused for a key that is unknown, expired, revoked or malformed.
  // Takes well under a microsecond, and tells nothing of a secret by its time.
  Result<KeyHolder> authenticate(std::string_view key) const;
  // The same kRefused if the key of this id is no longer valid.
  Result<void> check_key(std::string_view id) const;

  // At the first start: a key of the default tenant with every scope, in `path`. Returns whether
  // one was made; does nothing if any key has ever been made.
  Result<bool> make_first_key(const std::string& path);

  // kInvalid for an unknown scope or none, kNotFound for an unknown tenant.
  Result<NewApiKey> create_key(std::string_view tenant,
                               const std::vector<std::string>& scopes,
                               std::optional<SystemTime> expires);
  // A new key with the same scopes and expiry; the old one works for `grace` more.
  Result<NewApiKey> rotate_key(std::string_view tenant,
                               std::string_view id,
                               std::chrono::seconds grace);
  Result<void> revoke_key(std::string_view tenant, std::string_view id);
  // Oldest first, without a way back to the key.
  Result<std::vector<ApiKeyRecord>> keys(std::string_view tenant) const;
  // The tenant that a key belongs to; kNotFound if there is no key of this id.
  Result<std::string> tenant_of_key(std::string_view id) const;
  // When it last opened a door, since this object exists.
  [[nodiscard]] std::optional<SystemTime> last_use(std::string_view id) const;

  // Fails as check_tenant_name() does.
  Result<void> create_tenant(std::string_view name, const TenantQuotas& quotas);
  Result<void> set_quotas(std::string_view name, const TenantQuotas& quotas);
  // Its keys end with it. kConflict while it has sandboxes or volumes, or is the default one.
  Result<void> remove_tenant(std::string_view name);
  [[nodiscard]] std::vector<TenantRecord> tenants() const;
  // Without any limit for an unknown tenant.
  [[nodiscard]] TenantQuotas quotas(std::string_view tenant) const;

 private:
  struct Key {
    ApiKeyHash hash{};
    ApiKeyRecord record;
    // Set under the shared lock, by many at once. Zero: never.
    std::unique_ptr<std::atomic<SystemTime::rep>> used =
        std::make_unique<std::atomic<SystemTime::rep>>(0);
  };

  Tenants(Database& database, WallClock clock)
      : key_records_(database), tenant_records_(database), clock_(std::move(clock)) {}
  Result<void> load();
  Result<NewApiKey> draft(std::string_view tenant,
                          std::vector<std::string> scopes,
                          std::optional<SystemTime> expires) const;
  void remember(const ApiKeyRecord& record);

  // What changes keys or tenants: first the database, then the memory, one change at a time.
  mutable std::mutex changing_;
  ApiKeyRecords key_records_;
  TenantRecords tenant_records_;
  WallClock clock_;

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, Key> keys_;
  std::map<std::string, TenantRecord, std::less<>> tenants_;
};

}  // namespace glovebox
