// SPDX-License-Identifier: Apache-2.0
#include "store/secret_records.h"

#include <cstring>
#include <string>

#include "store/json_columns.h"

namespace glovebox {
namespace {

constexpr SqlPart kSelect =
    "SELECT tenant, name, id, version, metadata, created, updated FROM secrets ";
constexpr auto kAll = kSelect + SqlPart("ORDER BY id");
constexpr Sql kPlain =
    "SELECT tenant, name, id, version, metadata, created, updated, value FROM plain_secrets";
// A name that looks like another secret's id means the secret with that name.
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

void wipe(std::string& value) { ::explicit_bzero(value.data(), value.size()); }

Result<SecretRecord> find_in(Connection& connection,
                             std::string_view tenant,
                             std::string_view name_or_id) {
  Statement row = GB_TRY(connection.query(kFind, tenant, name_or_id));
  if (!GB_TRY(row.next())) {
    return Error(ErrorCode::kNotFound, "no such secret");
  }
  return take(row);
}

// What a value is bound to: it opens only in its own row, as its own version.
std::string binding_of(const SecretRecord& record) {
  std::string binding = "secret";
  for (const std::string& field : {record.tenant, record.name, std::to_string(record.version)}) {
    binding += " " + std::to_string(field.size()) + ":" + field;
  }
  return binding;
}

Result<std::string> sealed_in(Connection& connection, const std::string& id) {
  Statement row = GB_TRY(connection.query("SELECT sealed FROM secrets WHERE id = ?1", id));
  if (!GB_TRY(row.next())) {
    return Error(ErrorCode::kNotFound, "no such secret");
  }
  return row.text();
}

Result<void> insert_in(Connection& connection,
                       const SecretRecord& record,
                       std::string_view value,
                       const SecretKey& key) {
  const std::string metadata = GB_TRY(json_column::from_map(record.metadata));
  const std::string sealed = GB_TRY(seal(key, value, binding_of(record)));
  (void)GB_TRY(connection.run(
      "INSERT INTO secrets (tenant, name, id, sealed, version, metadata, created, updated)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      record.tenant, record.name, record.id, Blob{sealed}, record.version, metadata, record.created,
      record.updated));
  return {};
}

Result<std::vector<SecretRecord>> all_in(Connection& connection) {
  Statement rows = GB_TRY(connection.query(kAll));
  std::vector<SecretRecord> records;
  while (GB_TRY(rows.next())) {
    records.push_back(GB_TRY(take(rows)));
  }
  return records;
}

// Seals with the first key what another one has sealed.
Result<std::size_t> reseal_in(Connection& connection, const std::vector<SecretKey>& keys) {
  const std::vector<SecretRecord> records = GB_TRY(all_in(connection));
  for (const SecretRecord& record : records) {
    const std::string before = GB_TRY(sealed_in(connection, record.id));
    if (is_sealed_with(keys.front(), before)) {
      continue;
    }
    const std::string binding = binding_of(record);
    std::string value = GB_TRY(unseal(keys, before, binding));
    const std::string sealed = GB_TRY(seal(keys.front(), value, binding));
    wipe(value);
    (void)GB_TRY(
        connection.run("UPDATE secrets SET sealed = ?2 WHERE id = ?1", record.id, Blob{sealed}));
  }
  return records.size();
}

Result<bool> has_plain_table(Connection& connection) {
  Statement row =
      GB_TRY(connection.query("SELECT count(*) FROM sqlite_schema WHERE name = 'plain_secrets'"));
  return GB_TRY(row.next()) && row.integer() > 0;
}

}  // namespace

Result<void> SecretRecords::prepare(const std::string& database_path) {
  const auto resealed = database_.write([&](Connection& connection) -> Result<void> {
    auto keys = key_file_.read();
    if (!keys && keys.error().code() == ErrorCode::kNotFound) {
      if (!GB_TRY(all_in(connection)).empty()) {
        return Error(ErrorCode::kUnavailable,
                     "the database contains secrets, but their key file is missing",
                     "restore '" + key_file_.path() + "' from a backup");
      }
      keys = std::vector{GB_TRY(SecretKey::random())};
      GB_TRY(key_file_.write(*keys));
    }
    if (!keys) {
      return std::move(keys).error();
    }
    if (keys->size() > 1) {
      (void)GB_TRY(reseal_in(connection, *keys));
    }
    return {};
  });
  GB_TRY(resealed);
  GB_TRY(drop_old_keys());
  return seal_plain(database_path);
}

Result<void> SecretRecords::seal_plain(const std::string& database_path) {
  if (!GB_TRY(database_.read(has_plain_table))) {
    return {};
  }
  const auto moved = database_.write([&](Connection& connection) -> Result<void> {
    const std::vector<SecretKey> keys = GB_TRY(key_file_.read());
    std::vector<std::pair<SecretRecord, std::string>> plain;
    {
      Statement rows = GB_TRY(connection.query(kPlain));
      while (GB_TRY(rows.next())) {
        SecretRecord record = GB_TRY(take(rows));
        plain.emplace_back(std::move(record), rows.text());
      }
    }
    for (auto& [record, value] : plain) {
      GB_TRY(insert_in(connection, record, value, keys.front()));
      wipe(value);
    }
    (void)GB_TRY(connection.run("DELETE FROM plain_secrets"));
    return {};
  });
  GB_TRY(moved);
  {
    // Pages that were freed long ago, and the log, may still hold them. If this fails, the table
    // stays, and the next start does it.
    Connection alone = GB_TRY(Connection::open(database_path));
    GB_TRY(alone.script("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"));
  }
  return database_.write([](Connection& connection) -> Result<void> {
    return connection.script("DROP TABLE plain_secrets");
  });
}

Result<std::size_t> SecretRecords::rotate_key() {
  const auto resealed = database_.write([&](Connection& connection) -> Result<std::size_t> {
    std::vector<SecretKey> keys = GB_TRY(key_file_.read());
    if (keys.size() == 1) {  // Otherwise continue a rotation that was cut short.
      keys.insert(keys.begin(), GB_TRY(SecretKey::random()));
      GB_TRY(key_file_.write(keys));
    }
    return reseal_in(connection, keys);
  });
  const std::size_t count = GB_TRY(resealed);
  GB_TRY(drop_old_keys());
  return count;
}

// In a transaction of its own, so that no old key goes before its replacement is on the disk.
Result<void> SecretRecords::drop_old_keys() {
  return database_.write([&](Connection& connection) -> Result<void> {
    const std::vector<SecretKey> keys = GB_TRY(key_file_.read());
    if (keys.size() == 1) {
      return {};
    }
    for (const SecretRecord& record : GB_TRY(all_in(connection))) {
      if (!is_sealed_with(keys.front(), GB_TRY(sealed_in(connection, record.id)))) {
        return {};  // Another process rotates.
      }
    }
    return key_file_.write({keys.front()});
  });
}

Result<std::string> SecretRecords::value_of(std::string_view tenant, std::string_view name_or_id) {
  return database_.read([&](Connection& connection) -> Result<std::string> {
    const SecretRecord record = GB_TRY(find_in(connection, tenant, name_or_id));
    return unseal(GB_TRY(key_file_.read()), GB_TRY(sealed_in(connection, record.id)),
                  binding_of(record));
  });
}

Result<void> SecretRecords::insert(const SecretRecord& record, std::string_view value) {
  return database_.write([&](Connection& connection) -> Result<void> {
    return insert_in(connection, record, value, GB_TRY(key_file_.read()).front());
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
    const std::vector<SecretKey> keys = GB_TRY(key_file_.read());
    const std::string sealed = GB_TRY(seal(keys.front(), value, binding_of(changed)));
    (void)GB_TRY(connection.run(
        "UPDATE secrets SET sealed = ?2, version = ?3, metadata = ?4, updated = ?5 WHERE id = ?1",
        changed.id, Blob{sealed}, changed.version, column, changed.updated));
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
