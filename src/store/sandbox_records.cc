// SPDX-License-Identifier: Apache-2.0
#include "store/sandbox_records.h"

#include <algorithm>
#include <array>
#include <utility>

#include "spec/json/network_rules_json.h"
#include "store/json_columns.h"

namespace glovebox {
namespace {

using State = SandboxRecord::State;

constexpr SqlPart kSelect =
    "SELECT id, tenant, slot, template, tier, state, created, expires, ended_at, on_timeout,"
    " auto_resume, limits, env, metadata, network, extra, walls, storage,"
    " end_reason FROM sandboxes ";
constexpr auto kFind = kSelect + SqlPart("WHERE tenant = ?1 AND id = ?2");
constexpr auto kAlive = kSelect + SqlPart("WHERE ended_at IS NULL ORDER BY created, id");
constexpr std::array<std::pair<State, const char*>, 4> kStates = {{
    {State::kCreating, "creating"},
    {State::kRunning, "running"},
    {State::kPaused, "paused"},
    {State::kEnded, "ended"},
}};

const char* name_of(State state) {
  return std::find_if(kStates.begin(), kStates.end(),
                      [&](const auto& pair) { return pair.first == state; })
      ->second;
}

Result<State> state_of(const std::string& name) {
  const auto* found = std::find_if(kStates.begin(), kStates.end(),
                                   [&](const auto& pair) { return pair.second == name; });
  if (found == kStates.end()) {
    return Error(ErrorCode::kUnavailable, "the database contains an unknown state");
  }
  return found->first;
}

// In the order of kSelect.
Result<SandboxRecord> take(Statement& row) {
  SandboxRecord record;
  record.id = row.text();
  record.tenant = row.text();
  record.slot = row.text();
  record.template_name = row.text();
  record.tier = row.text();
  record.state = GB_TRY(state_of(row.text()));
  record.created = row.time();
  record.expires = row.time();
  record.ended_at = row.optional_time();
  record.pause_on_timeout = row.text() == "pause";
  record.auto_resume = row.boolean();
  record.limits = GB_TRY(json_column::to_limits(row.text()));
  record.env = GB_TRY(json_column::to_environment(row.text()));
  record.metadata = GB_TRY(json_column::to_map(row.text()));
  record.network = read_stored_network_rules(row.text());
  record.extra = row.text();
  record.walls = row.text();
  record.storage = row.text();
  record.end_reason = row.text();
  return record;
}

Result<std::vector<SandboxRecord>> take_all(Statement& rows) {
  std::vector<SandboxRecord> records;
  while (GB_TRY(rows.next())) {
    records.push_back(GB_TRY(take(rows)));
  }
  return records;
}

Result<SandboxRecord> find_in(Connection& connection,
                              std::string_view tenant,
                              std::string_view id) {
  Statement rows = GB_TRY(connection.query(kFind, tenant, id));
  if (!GB_TRY(rows.next())) {
    return Error(ErrorCode::kNotFound, "no such sandbox");
  }
  return take(rows);
}

const char* on_timeout(const SandboxRecord& record) {
  return record.pause_on_timeout ? "pause" : "kill";
}

Result<void> insert_in(Connection& connection, const SandboxRecord& record) {
  const std::string env = GB_TRY(json_column::from_environment(record.env));
  const std::string metadata = GB_TRY(json_column::from_map(record.metadata));
  (void)GB_TRY(connection.run(
      "INSERT INTO sandboxes (id, tenant, slot, template, tier, state, created, expires, ended_at,"
      " on_timeout, auto_resume, limits, env, metadata, network, extra, walls, storage)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
      record.id, record.tenant, record.slot, record.template_name, record.tier,
      name_of(record.state), record.created, record.expires, record.ended_at, on_timeout(record),
      record.auto_resume, json_column::from_limits(record.limits), env, metadata,
      to_json(record.network), record.extra, record.walls, record.storage));
  return {};
}

Result<void> update_in(Connection& connection, const SandboxRecord& record) {
  const std::string env = GB_TRY(json_column::from_environment(record.env));
  const std::string metadata = GB_TRY(json_column::from_map(record.metadata));
  (void)GB_TRY(connection.run(
      "UPDATE sandboxes SET slot = ?2, template = ?3, tier = ?4, state = ?5, expires = ?6,"
      " ended_at = ?7, on_timeout = ?8, auto_resume = ?9, limits = ?10, env = ?11, metadata = ?12,"
      " network = ?13, extra = ?14, walls = ?15, storage = ?16 WHERE id = ?1",
      record.id, record.slot, record.template_name, record.tier, name_of(record.state),
      record.expires, record.ended_at, on_timeout(record), record.auto_resume,
      json_column::from_limits(record.limits), env, metadata, to_json(record.network), record.extra,
      record.walls, record.storage));
  return {};
}

}  // namespace

Result<void> SandboxRecords::insert(const SandboxRecord& record, Durability durability) {
  return database_.write([&](Connection& connection) { return insert_in(connection, record); },
                         durability);
}

void SandboxRecords::leave_insert(SandboxRecord record, Durability durability) {
  database_.leave_write(
      [owned = std::move(record)](Connection& connection) { return insert_in(connection, owned); },
      durability);
}

Result<SandboxRecord> SandboxRecords::find(std::string_view tenant, std::string_view id) {
  return database_.read([&](Connection& connection) { return find_in(connection, tenant, id); });
}

Result<SandboxRecord> SandboxRecords::change(std::string_view tenant,
                                             std::string_view id,
                                             const Edit& edit,
                                             Durability durability) {
  return database_.write(
      [&](Connection& connection) -> Result<SandboxRecord> {
        const SandboxRecord before = GB_TRY(find_in(connection, tenant, id));
        SandboxRecord record = before;
        GB_TRY(edit(record));
        record.id = before.id;
        record.tenant = before.tenant;
        record.created = before.created;
        GB_TRY(update_in(connection, record));
        return record;
      },
      durability);
}

Result<void> SandboxRecords::end(std::string_view tenant,
                                 std::string_view id,
                                 SystemTime at,
                                 std::string_view reason,
                                 Durability durability) {
  return database_.write(
      [&](Connection& connection) -> Result<void> {
        (void)GB_TRY(connection.run(
            "UPDATE sandboxes SET state = 'ended', ended_at = ?3, end_reason = ?4, env = '[]',"
            " network = '{}', extra = '{}', storage = '{}'"
            " WHERE tenant = ?1 AND id = ?2 AND ended_at IS NULL",
            tenant, id, at, reason));
        return {};
      },
      durability);
}

Result<std::vector<SandboxRecord>> SandboxRecords::alive() {
  return database_.read([](Connection& connection) -> Result<std::vector<SandboxRecord>> {
    Statement rows = GB_TRY(connection.query(kAlive));
    return take_all(rows);
  });
}

Result<std::uint64_t> SandboxRecords::forget_ended(SystemTime before, std::size_t most) {
  return database_.write([&](Connection& connection) {
    return connection.run(
        "DELETE FROM sandboxes WHERE id IN (SELECT id FROM sandboxes"
        " WHERE ended_at IS NOT NULL AND ended_at < ?1 ORDER BY ended_at LIMIT ?2)",
        before, most);
  });
}

}  // namespace glovebox
