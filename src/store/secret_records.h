// SPDX-License-Identifier: Apache-2.0
// SecretRecords: values that a tenant's sandboxes may use on their way out and nobody may read.
//
// The database holds them sealed alone (store/secret_box.h): neither its file nor its log ever has
// one in plain text. Several processes may use the same database and key file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/secret_box.h"

namespace glovebox {

// All of a secret but its value, which goes in and does not come out.
struct SecretRecord {
  std::string tenant;
  std::string name;           // As the tenant calls it.
  std::string id;             // Of all tenants' secrets, no two have the same.
  std::uint64_t version = 1;  // Counts the values that it has had.
  std::map<std::string, std::string> metadata{};
  SystemTime created{};
  SystemTime updated{};

  friend bool operator==(const SecretRecord&, const SecretRecord&) = default;
};

// Safe to use from any thread.
class SecretRecords {
 public:
  SecretRecords(Database& database, std::string key_file)
      : database_(database), key_file_(std::move(key_file)) {}

  // Once, before all else: makes the key file where there is none yet, seals what an older version
  // stored in plain text, and finishes a rotation that was cut short. kUnavailable where there are
  // secrets, but not their keys. `database_path` is the database's own file.
  Result<void> prepare(const std::string& database_path);

  // Seals every value anew with a new key, and forgets the old one; returns how many there are.
  // Cut short at any moment it leaves every value readable, and prepare() goes on.
  Result<std::size_t> rotate_key();

  // kConflict when the tenant has one of that name, kNotFound when there is no such tenant.
  Result<void> insert(const SecretRecord& record, std::string_view value);
  // By name or id; kNotFound too when it is another tenant's.
  Result<SecretRecord> find(std::string_view tenant, std::string_view name_or_id);
  Result<std::size_t> count(std::string_view tenant);
  // By name, those behind `after`, at most `limit`.
  Result<std::vector<SecretRecord>> of_tenant(std::string_view tenant,
                                              std::string_view after,
                                              std::size_t limit);
  // The next version, and other metadata where they are given. Returns what is there then.
  Result<SecretRecord> change(std::string_view tenant,
                              std::string_view name_or_id,
                              std::string_view value,
                              const std::optional<std::map<std::string, std::string>>& metadata,
                              SystemTime now);
  Result<void> remove(std::string_view tenant, std::string_view name_or_id);
  // For whoever puts it where it is used. kUnavailable when no key opens it.
  Result<std::string> value_of(std::string_view tenant, std::string_view name_or_id);

 private:
  Result<void> seal_plain(const std::string& database_path);
  Result<void> drop_old_keys();

  Database& database_;
  const SecretKeyFile key_file_;
};

}  // namespace glovebox
