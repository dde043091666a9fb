// SPDX-License-Identifier: Apache-2.0
#include "store/volume_records.h"

namespace glovebox {
namespace {

constexpr SqlPart kSelect = "SELECT tenant, name, id, size, inodes, secret, created FROM volumes ";
// A name that looks like another volume's id means the volume with that name.
constexpr auto kFind = kSelect + SqlPart(
                                     "WHERE tenant = ?1 AND (name = ?2 OR id = ?2)"
                                     " ORDER BY name = ?2 DESC LIMIT 1");
constexpr auto kOfTenant = kSelect + SqlPart("WHERE tenant = ?1 ORDER BY name");

// In the order of kSelect.
VolumeRecord take(Statement& row) {
  VolumeRecord record;
  record.tenant = row.text();
  record.name = row.text();
  record.id = row.text();
  record.size = Bytes{row.count()};
  record.inodes = static_cast<std::uint32_t>(row.count());
  record.secret = row.text();
  record.created = row.time();
  return record;
}

Error no_such_volume() { return {ErrorCode::kNotFound, "no such volume"}; }

}  // namespace

Result<void> VolumeRecords::insert(const VolumeRecord& record) {
  return database_.write([&](Connection& connection) -> Result<void> {
    (void)GB_TRY(
        connection.run("INSERT INTO volumes (tenant, name, id, size, inodes, secret, created)"
                       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                       record.tenant, record.name, record.id, record.size.count, record.inodes,
                       record.secret, record.created));
    return {};
  });
}

Result<VolumeRecord> VolumeRecords::find(std::string_view tenant, std::string_view name_or_id) {
  return database_.read([&](Connection& connection) -> Result<VolumeRecord> {
    Statement row = GB_TRY(connection.query(kFind, tenant, name_or_id));
    if (!GB_TRY(row.next())) {
      return no_such_volume();
    }
    return take(row);
  });
}

Result<std::vector<VolumeRecord>> VolumeRecords::of_tenant(std::string_view tenant) {
  return database_.read([&](Connection& connection) -> Result<std::vector<VolumeRecord>> {
    Statement rows = GB_TRY(connection.query(kOfTenant, tenant));
    std::vector<VolumeRecord> records;
    while (GB_TRY(rows.next())) {
      records.push_back(take(rows));
    }
    return records;
  });
}

Result<void> VolumeRecords::remove(std::string_view tenant, std::string_view id) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const std::uint64_t found =
        GB_TRY(connection.run("DELETE FROM volumes WHERE tenant = ?1 AND id = ?2", tenant, id));
    return found == 0 ? no_such_volume() : Result<void>();
  });
}

}  // namespace glovebox
