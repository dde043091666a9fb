// SPDX-License-Identifier: Apache-2.0
#include "store/api_key_records.h"

#include "store/json_columns.h"

namespace glovebox {
namespace {

constexpr SqlPart kSelect =
    "SELECT id, tenant, hash, scopes, last_four, created, expires, revoked FROM api_keys ";
constexpr auto kOfTenant = kSelect + SqlPart("WHERE tenant = ?1 ORDER BY created, id");
constexpr auto kAll = kSelect + SqlPart("ORDER BY created, id");

// In the order of kSelect.
Result<std::vector<ApiKeyRecord>> take_all(Statement& row) {
  std::vector<ApiKeyRecord> records;
  while (GB_TRY(row.next())) {
    ApiKeyRecord& record = records.emplace_back();
    record.id = row.text();
    record.tenant = row.text();
    record.hash = row.text();
    record.scopes = GB_TRY(json_column::to_texts(row.text()));
    record.last_four = row.text();
    record.created = row.time();
    record.expires = row.optional_time();
    record.revoked = row.optional_time();
  }
  return records;
}

Result<void> insert_in(Connection& connection, const ApiKeyRecord& record) {
  const std::string scopes = GB_TRY(json_column::from_texts(record.scopes));
  (void)GB_TRY(connection.run(
      "INSERT INTO api_keys (id, tenant, hash, scopes, last_four, created, expires, revoked)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      record.id, record.tenant, Blob{record.hash}, scopes, record.last_four, record.created,
      record.expires, record.revoked));
  return {};
}

Error no_such_key() { return {ErrorCode::kNotFound, "no such API key"}; }

}  // namespace

Result<void> ApiKeyRecords::insert(const ApiKeyRecord& record) {
  return database_.write([&](Connection& connection) { return insert_in(connection, record); });
}

Result<void> ApiKeyRecords::rotate(std::string_view old_id,
                                   SystemTime old_expires,
                                   const ApiKeyRecord& replacement) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const std::uint64_t found =
        GB_TRY(connection.run("UPDATE api_keys SET expires = min(coalesce(expires, ?3), ?3)"
                              " WHERE id = ?1 AND tenant = ?2 AND revoked IS NULL",
                              old_id, replacement.tenant, old_expires));
    if (found == 0) {
      return no_such_key();
    }
    return insert_in(connection, replacement);
  });
}

Result<void> ApiKeyRecords::revoke(std::string_view tenant, std::string_view id, SystemTime at) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const std::uint64_t found = GB_TRY(connection.run(
        "UPDATE api_keys SET revoked = coalesce(revoked, ?3) WHERE id = ?1 AND tenant = ?2", id,
        tenant, at));
    return found == 0 ? no_such_key() : Result<void>();
  });
}

Result<std::vector<ApiKeyRecord>> ApiKeyRecords::of_tenant(std::string_view tenant) {
  return database_.read([&](Connection& connection) -> Result<std::vector<ApiKeyRecord>> {
    Statement rows = GB_TRY(connection.query(kOfTenant, tenant));
    return take_all(rows);
  });
}

Result<std::vector<ApiKeyRecord>> ApiKeyRecords::all() {
  return database_.read([](Connection& connection) -> Result<std::vector<ApiKeyRecord>> {
    Statement rows = GB_TRY(connection.query(kAll));
    return take_all(rows);
  });
}

}  // namespace glovebox
