// SPDX-License-Identifier: Apache-2.0
// StopRecords: emergency stops that are in effect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/database.h"

namespace glovebox {

struct StopRecord {
  std::string kind;  // What is stopped: "all", "tenant", "sandbox";
  std::string name;  // and which.
  std::string by_tenant;
  std::string by_key;
  SystemTime at{};

  friend bool operator==(const StopRecord&, const StopRecord&) = default;
};

// Safe to use from any thread.
class StopRecords {
 public:
  explicit StopRecords(Database& database) : database_(database) {}

  // An existing record of the same kind and name stays as it is.
  Result<void> insert(const StopRecord& record);
  // Oldest first.
  Result<std::vector<StopRecord>> all();
  // Also succeeds if there is none.
  Result<void> remove(std::string_view kind, std::string_view name);

 private:
  Database& database_;
};

}  // namespace glovebox
