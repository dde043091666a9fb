// SPDX-License-Identifier: Apache-2.0
#include "store/template_build_records.h"

#include <cstdint>

namespace glovebox {

Result<void> TemplateBuildRecords::put(const TemplateBuildRecord& record, SystemTime forgotten) {
  return database_.write(
      [&](Connection& connection) -> Result<void> {
        (void)GB_TRY(connection.run("DELETE FROM template_builds WHERE created < ?1", forgotten));
        (void)GB_TRY(connection.run(
            "INSERT INTO template_builds (tenant, id, name, state, reason, step, created)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
            " ON CONFLICT (id) DO UPDATE SET"
            " state = excluded.state, reason = excluded.reason, step = excluded.step",
            record.tenant, record.id, record.name, static_cast<std::uint64_t>(record.state),
            record.reason, record.step, record.created));
        return {};
      },
      Durability::kProcess);
}

Result<TemplateBuildRecord> TemplateBuildRecords::find(std::string_view tenant,
                                                       std::string_view id) {
  return database_.read([&](Connection& connection) -> Result<TemplateBuildRecord> {
    Statement row =
        GB_TRY(connection.query("SELECT tenant, id, name, state, reason, step, created"
                                " FROM template_builds WHERE tenant = ?1 AND id = ?2",
                                tenant, id));
    if (!GB_TRY(row.next())) {
      return Error(ErrorCode::kNotFound, "no such build of a template");
    }
    TemplateBuildRecord record;
    record.tenant = row.text();
    record.id = row.text();
    record.name = row.text();
    record.state = static_cast<TemplateBuildRecord::State>(row.count());
    record.reason = row.text();
    record.step = row.text();
    record.created = row.time();
    return record;
  });
}

Result<void> TemplateBuildRecords::fail_all_under_way(std::string_view reason) {
  return database_.write([&](Connection& connection) -> Result<void> {
    (void)GB_TRY(
        connection.run("UPDATE template_builds SET state = 2, reason = ?1, step = 'base'"
                       " WHERE state = 0",
                       reason));
    return {};
  });
}

}  // namespace glovebox
