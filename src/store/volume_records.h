// SPDX-License-Identifier: Apache-2.0
// VolumeRecords: folders that outlive the sandboxes that use them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "store/database.h"

namespace glovebox {

struct VolumeRecord {
  std::string tenant;
  std::string name;  // As the tenant calls it.
  std::string id;    // Unique among all tenants' volumes.
  Bytes size;        // How much it may hold.
  std::uint32_t inodes = 0;
  std::string secret;  // Opens the volume without a key of its tenant; empty: nothing does.
  SystemTime created{};

  friend bool operator==(const VolumeRecord&, const VolumeRecord&) = default;
};

// Safe to use from any thread.
class VolumeRecords {
 public:
  explicit VolumeRecords(Database& database) : database_(database) {}

  // kConflict if the tenant has one of that name, kNotFound if there is no such tenant.
  Result<void> insert(const VolumeRecord& record);
  // By name or id; also kNotFound if it is another tenant's.
  Result<VolumeRecord> find(std::string_view tenant, std::string_view name_or_id);
  // By name.
  Result<std::vector<VolumeRecord>> of_tenant(std::string_view tenant);
  Result<void> remove(std::string_view tenant, std::string_view id);

 private:
  Database& database_;
};

}  // namespace glovebox
