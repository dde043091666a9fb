// SPDX-License-Identifier: Apache-2.0
// SecretRecords: values that a tenant's sandboxes may use in outgoing traffic and nobody may read.
//
// The database holds them only sealed (store/secret_box.h): neither its file nor its log ever has
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

// All of a secret except its value, which goes in and does not come out.
struct SecretRecord {
  std::string tenant;
  std::string name;           // As the tenant calls it.
  std::string id;             // Unique among all tenants' secrets.
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

  // Call once, before all else: makes the key file if there is none yet, seals what an older
  // version stored in plain text, and finishes a rotation that was cut short. kUnavailable if there
  // are secrets, but not their keys. `database_path` is the database's own file.
  Result<void> prepare(const std::string& database_path);

  // Seals every value anew with a new key, and forgets the old key; returns the number of values.
  // If it is cut short at any moment, every value stays readable, and prepare() continues.
  Result<std::size_t> rotate_key();

  // kConflict if the tenant has one of that name, kNotFound if there is no such tenant.
  Result<void> insert(const SecretRecord& record, std::string_view value);
  // By name or id; also kNotFound if it is another tenant's.
  Result<SecretRecord> find(std::string_view tenant, std::string_view name_or_id);
  Result<std::size_t> count(std::string_view tenant);
  // In the order of their names, those after `after`, at most `limit`.
  Result<std::vector<SecretRecord>> of_tenant(std::string_view tenant,
                                              std::string_view after,
                                              std::size_t limit);
  // Stores the next version, with new metadata if given. Returns the changed record.
  Result<SecretRecord> change(std::string_view tenant,
                              std::string_view name_or_id,
                              std::string_view value,
                              const std::optional<std::map<std::string, std::string>>& metadata,
                              SystemTime now);
  Result<void> remove(std::string_view tenant, std::string_view name_or_id);
  // For the code that puts the value where it is used. kUnavailable if no key opens it.
  Result<std::string> value_of(std::string_view tenant, std::string_view name_or_id);

 private:
  Result<void> seal_plain(const std::string& database_path);
  Result<void> drop_old_keys();

  Database& database_;
  const SecretKeyFile key_file_;
};

}  // namespace glovebox
