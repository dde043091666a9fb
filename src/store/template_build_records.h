// SPDX-License-Identifier: Apache-2.0
// TemplateBuildRecords: the state of template builds, for clients that ask about it later, even if
// the daemon has ended meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/database.h"

namespace glovebox {

struct TemplateBuildRecord {
  // The numbers are in the database.
  enum class State { kUnderWay = 0, kReady = 1, kFailed = 2 };

  std::string tenant;
  std::string id;    // Unique among all tenants' builds.
  std::string name;  // The template's.
  State state = State::kUnderWay;
  std::string reason{};  // Of a failure;
  std::string step{};    // where it was.
  SystemTime created{};

  friend bool operator==(const TemplateBuildRecord&, const TemplateBuildRecord&) = default;
};

// Safe to use from any thread.
class TemplateBuildRecords {
 public:
  explicit TemplateBuildRecords(Database& database) : database_(database) {}

  // Inserts or replaces the record. Removes those of builds that began before `forgotten`.
  Result<void> put(const TemplateBuildRecord& record, SystemTime forgotten);
  // Also kNotFound if it is another tenant's.
  Result<TemplateBuildRecord> find(std::string_view tenant, std::string_view id);
  // For builds whose daemon is gone.
  Result<void> fail_all_under_way(std::string_view reason);

 private:
  Database& database_;
};

}  // namespace glovebox
