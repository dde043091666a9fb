// SPDX-License-Identifier: Apache-2.0
#include "store/template_records.h"

#include "base/text.h"

namespace glovebox {
namespace {

constexpr SqlPart kSelect =
    "SELECT tenant, name, source, content_hash, made_from, settings, created FROM templates ";
// The tenant's own sorts before the shared one, whose tenant is ''.
constexpr auto kFind =
    kSelect + SqlPart("WHERE tenant IN (?1, '') AND name = ?2 ORDER BY tenant DESC LIMIT 1");
constexpr auto kVisible =
    kSelect + SqlPart(
                  "AS seen WHERE tenant = ?1 OR (tenant = '' AND NOT EXISTS (SELECT 1 FROM"
                  " templates AS own WHERE own.tenant = ?1 AND own.name = seen.name))"
                  " ORDER BY name");

// In the order of kSelect.
TemplateRecord take(Statement& row) {
  TemplateRecord record;
  record.tenant = row.text();
  record.name = row.text();
  record.source = row.text();
  record.content_hash = row.text();
  record.made_from = row.text();
  record.settings = row.text();
  record.created = row.time();
  return record;
}

Error no_such_template(std::string_view name) {
  return {ErrorCode::kNotFound, "no such template: '" + printable(name) + "'"};
}

}  // namespace

Result<void> TemplateRecords::put(const TemplateRecord& record) {
  return database_.write([&](Connection& connection) -> Result<void> {
    (void)GB_TRY(connection.run(
        "INSERT INTO templates (tenant, name, source, content_hash, made_from, settings, created)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (tenant, name) DO UPDATE SET"
        " source = excluded.source, content_hash = excluded.content_hash,"
        " made_from = excluded.made_from, settings = excluded.settings, created = excluded.created",
        record.tenant, record.name, record.source, record.content_hash, record.made_from,
        record.settings, record.created));
    return {};
  });
}

Result<void> TemplateRecords::copy(std::string_view tenant,
                                   std::string_view name,
                                   std::span<const std::string> names,
                                   SystemTime created) {
  return database_.write([&](Connection& connection) -> Result<void> {
    for (const std::string& each : names) {
      const std::uint64_t made = GB_TRY(connection.run(
          "INSERT INTO templates (tenant, name, source, content_hash, made_from, settings, created)"
          " SELECT ?1, ?3, source, content_hash, made_from, settings, ?4 FROM templates"
          " WHERE tenant IN (?1, '') AND name = ?2 ORDER BY tenant DESC LIMIT 1"
          " ON CONFLICT (tenant, name) DO UPDATE SET"
          " source = excluded.source, content_hash = excluded.content_hash,"
          " made_from = excluded.made_from, settings = excluded.settings,"
          " created = excluded.created",
          tenant, name, each, created));
      if (made == 0) {
        return no_such_template(name);
      }
    }
    return {};
  });
}

Result<TemplateRecord> TemplateRecords::find(std::string_view tenant, std::string_view name) {
  return database_.read([&](Connection& connection) -> Result<TemplateRecord> {
    Statement row = GB_TRY(connection.query(kFind, tenant, name));
    if (!GB_TRY(row.next())) {
      return no_such_template(name);
    }
    return take(row);
  });
}

Result<std::vector<TemplateRecord>> TemplateRecords::visible_to(std::string_view tenant) {
  return database_.read([&](Connection& connection) -> Result<std::vector<TemplateRecord>> {
    Statement rows = GB_TRY(connection.query(kVisible, tenant));
    std::vector<TemplateRecord> records;
    while (GB_TRY(rows.next())) {
      records.push_back(take(rows));
    }
    return records;
  });
}

Result<std::vector<TemplateRecord>> TemplateRecords::all() {
  return database_.read([&](Connection& connection) -> Result<std::vector<TemplateRecord>> {
    Statement rows = GB_TRY(connection.query(kSelect));
    std::vector<TemplateRecord> records;
    while (GB_TRY(rows.next())) {
      records.push_back(take(rows));
    }
    return records;
  });
}

Result<void> TemplateRecords::remove(std::string_view tenant, std::string_view name) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const std::uint64_t found = GB_TRY(
        connection.run("DELETE FROM templates WHERE tenant = ?1 AND name = ?2", tenant, name));
    return found == 0 ? no_such_template(name) : Result<void>();
  });
}

Result<bool> TemplateRecords::uses_content(std::string_view content_hash) {
  return database_.read([&](Connection& connection) -> Result<bool> {
    Statement rows = GB_TRY(
        connection.query("SELECT 1 FROM templates WHERE content_hash = ?1 LIMIT 1", content_hash));
    return GB_TRY(rows.next());
  });
}

}  // namespace glovebox
