// SPDX-License-Identifier: Apache-2.0
// TenantRecords: the tenants that share this machine, and how much of it each may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/database.h"

namespace glovebox {

// The tenant that is always there.
inline constexpr std::string_view kDefaultTenant = "default";

// An absent quota is no limit. Memory, cpus and disk are sums over the limits of its sandboxes.
struct TenantQuotas {
  std::optional<std::uint64_t> sandboxes{};
  std::optional<Bytes> memory{};
  std::optional<double> cpus{};
  std::optional<Bytes> disk{};
  std::optional<std::uint64_t> executions{};  // At once.
  std::optional<double> requests_per_second{};
  std::optional<double> burst{};  // Requests at once after a quiet time; absent: one second's.

  friend bool operator==(const TenantQuotas&, const TenantQuotas&) = default;
};

struct TenantRecord {
  std::string name;
  SystemTime created{};
  TenantQuotas quotas{};

  friend bool operator==(const TenantRecord&, const TenantRecord&) = default;
};

// Safe to use from any thread.
class TenantRecords {
 public:
  explicit TenantRecords(Database& database) : database_(database) {}

  Result<void> insert(const TenantRecord& record);
  Result<void> set_quotas(std::string_view name, const TenantQuotas& quotas);
  // Also removes its keys, its templates' names and the records of its ended sandboxes. kConflict
  // while it has sandboxes or volumes.
  Result<void> remove(std::string_view name);
  // By name.
  Result<std::vector<TenantRecord>> all();

 private:
  Database& database_;
};

}  // namespace glovebox
