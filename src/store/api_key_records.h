// SPDX-License-Identifier: Apache-2.0
// ApiKeyRecords: who has access. The keys themselves are nowhere in the database.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace glovebox {

struct ApiKeyRecord {
  std::string id;  // Not secret: it names the key in lists.
  std::string tenant;
  std::string hash;  // 32 bytes.
  std::vector<std::string> scopes;
  std::string last_four;  // For people who have the key in front of them.
  SystemTime created{};
  std::optional<SystemTime> expires;
  std::optional<SystemTime> revoked;

  friend bool operator==(const ApiKeyRecord&, const ApiKeyRecord&) = default;
};

// Safe to use from any thread.
class ApiKeyRecords {
 public:
  explicit ApiKeyRecords(Database& database) : database_(database) {}

  // kNotFound if there is no such tenant.
  Result<void> insert(const ApiKeyRecord& record);
  // In one transaction, inserts the new key and makes the old one expire at `old_expires`, unless
  // it expires earlier. kNotFound if the old one is not that tenant's, or was revoked.
  Result<void> rotate(std::string_view old_id,
                      SystemTime old_expires,
                      const ApiKeyRecord& replacement);
  // kNotFound if the key is not that tenant's. If it was revoked before, it keeps that time.
  Result<void> revoke(std::string_view tenant, std::string_view id, SystemTime at);

  // Oldest first.
  Result<std::vector<ApiKeyRecord>> of_tenant(std::string_view tenant);
  Result<std::vector<ApiKeyRecord>> all();

 private:
  Database& database_;
};

}  // namespace glovebox
