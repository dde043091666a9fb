// SPDX-License-Identifier: Apache-2.0
#include "store/stop_records.h"

namespace glovebox {

Result<void> StopRecords::insert(const StopRecord& record) {
  return database_.write([&](Connection& connection) -> Result<void> {
    (void)GB_TRY(
        connection.run("INSERT INTO stops (kind, name, by_tenant, by_key, at)"
                       " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
                       record.kind, record.name, record.by_tenant, record.by_key, record.at));
    return {};
  });
}

Result<std::vector<StopRecord>> StopRecords::all() {
  return database_.read([&](Connection& connection) -> Result<std::vector<StopRecord>> {
    Statement rows =
        GB_TRY(connection.query("SELECT kind, name, by_tenant, by_key, at FROM stops ORDER BY at"));
    std::vector<StopRecord> records;
    while (GB_TRY(rows.next())) {
      StopRecord record;
      record.kind = rows.text();
      record.name = rows.text();
      record.by_tenant = rows.text();
      record.by_key = rows.text();
      record.at = rows.time();
      records.push_back(std::move(record));
    }
    return records;
  });
}

Result<void> StopRecords::remove(std::string_view kind, std::string_view name) {
  return database_.write([&](Connection& connection) -> Result<void> {
    (void)GB_TRY(connection.run("DELETE FROM stops WHERE kind = ?1 AND name = ?2", kind, name));
    return {};
  });
}

}  // namespace glovebox
