// SPDX-License-Identifier: Apache-2.0
#include "store/secret_records.h"

#include "store/json_columns.h"

namespace glovebox {
namespace {

constexpr SqlPart kSelect =
    "SELECT tenant, name, id, version, metadata, created, updated FROM secrets ";
// A name that looks like another secret's id names the secret that is called so.
constexpr auto kFind = kSelect + SqlPart(
                                     "WHERE tenant = ?1 AND (name = ?2 OR id = ?2)"
                                     " ORDER BY name = ?2 DESC LIMIT 1");
constexpr auto kOfTenant =
    kSelect + SqlPart("WHERE tenant = ?1 AND name > ?2 ORDER BY name LIMIT ?3");

// In the order of kSelect.
Result<SecretRecord> take(Statement& row) {
  SecretRecord record;
  record.tenant = row.text();
  record.name = row.text();
  record.id = row.text();
  record.version = row.count();
  record.metadata = GB_TRY(json_column::to_map(row.text()));
  record.created = row.time();
  record.updated = row.time();
  return record;
}

Result<SecretRecord> find_in(Connection& connection,
                             std::string_view tenant,
                             std::string_view name_or_id) {
  Statement row = GB_TRY(connection.query(kFind, tenant, name_or_id));
  if (!GB_TRY(row.next())) {
    return Error(ErrorCode::kNotFound, "no such secret");
  }
  return take(row);
}

}  // namespace

Result<void> SecretRecords::insert(const SecretRecord& record, std::string_view value) {
  const std::string metadata = GB_TRY(json_column::from_map(record.metadata));
  return database_.write([&](Connection& connection) -> Result<void> {
    (void)GB_TRY(connection.run(
        "INSERT INTO secrets (tenant, name, id, value, version, metadata, created, updated)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        record.tenant, record.name, record.id, value, record.version, metadata, record.created,
        record.updated));
    return {};
  });
}

Result<SecretRecord> SecretRecords::find(std::string_view tenant, std::string_view name_or_id) {
  return database_.read([&](Connection& connection) -> Result<SecretRecord> {
    return find_in(connection, tenant, name_or_id);
  });
}

Result<std::size_t> SecretRecords::count(std::string_view tenant) {
  return database_.read([&](Connection& connection) -> Result<std::size_t> {
    Statement row =
        GB_TRY(connection.query("SELECT count(*) FROM secrets WHERE tenant = ?1", tenant));
    (void)GB_TRY(row.next());
    return static_cast<std::size_t>(row.count());
  });
}

Result<std::vector<SecretRecord>> SecretRecords::of_tenant(std::string_view tenant,
                                                           std::string_view after,
                                                           std::size_t limit) {
  return database_.read([&](Connection& connection) -> Result<std::vector<SecretRecord>> {
    Statement rows =
        GB_TRY(connection.query(kOfTenant, tenant, after, static_cast<std::uint64_t>(limit)));
    std::vector<SecretRecord> records;
    while (GB_TRY(rows.next())) {
      records.push_back(GB_TRY(take(rows)));
    }
    return records;
  });
}

Result<SecretRecord> SecretRecords::change(
    std::string_view tenant,
    std::string_view name_or_id,
    std::string_view value,
    const std::optional<std::map<std::string, std::string>>& metadata,
    SystemTime now) {
  SecretRecord changed;
  const auto written = database_.write([&](Connection& connection) -> Result<void> {
    changed = GB_TRY(find_in(connection, tenant, name_or_id));
    ++changed.version;
    changed.updated = now;
    if (metadata) {
      changed.metadata = *metadata;
    }
    const std::string column = GB_TRY(json_column::from_map(changed.metadata));
    (void)GB_TRY(connection.run(
        "UPDATE secrets SET value = ?2, version = ?3, metadata = ?4, updated = ?5 WHERE id = ?1",
        changed.id, value, changed.version, column, changed.updated));
    return {};
  });
  if (!written) {
    return written.error();
  }
  return changed;
}

Result<void> SecretRecords::remove(std::string_view tenant, std::string_view name_or_id) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const SecretRecord found = GB_TRY(find_in(connection, tenant, name_or_id));
    (void)GB_TRY(connection.run("DELETE FROM secrets WHERE id = ?1", found.id));
    return {};
  });
}

}  // namespace glovebox
