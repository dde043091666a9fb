// SPDX-License-Identifier: Apache-2.0
#include "store/tenant_records.h"

namespace glovebox {
namespace {

Error no_such_tenant() { return {ErrorCode::kNotFound, "no such tenant"}; }

std::optional<std::uint64_t> count_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->count) : std::nullopt;
}
std::optional<Bytes> bytes_of(const std::optional<std::uint64_t>& count) {
  return count ? std::optional(Bytes{*count}) : std::nullopt;
}

}  // namespace

Result<void> TenantRecords::insert(const TenantRecord& record) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const TenantQuotas& quotas = record.quotas;
    (void)GB_TRY(connection.run(
        "INSERT INTO tenants (name, created, sandboxes, memory, cpus, disk, executions,"
        " requests_per_second, burst) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        record.name, record.created, quotas.sandboxes, count_of(quotas.memory), quotas.cpus,
        count_of(quotas.disk), quotas.executions, quotas.requests_per_second, quotas.burst));
    return {};
  });
}

Result<void> TenantRecords::set_quotas(std::string_view name, const TenantQuotas& quotas) {
  return database_.write([&](Connection& connection) -> Result<void> {
    const std::uint64_t found = GB_TRY(connection.run(
        "UPDATE tenants SET sandboxes = ?2, memory = ?3, cpus = ?4, disk = ?5, executions = ?6,"
        " requests_per_second = ?7, burst = ?8 WHERE name = ?1",
        name, quotas.sandboxes, count_of(quotas.memory), quotas.cpus, count_of(quotas.disk),
        quotas.executions, quotas.requests_per_second, quotas.burst));
    return found == 0 ? no_such_tenant() : Result<void>();
  });
}

Result<void> TenantRecords::remove(std::string_view name) {
  return database_.write([&](Connection& connection) -> Result<void> {
    // The history of its sandboxes is no reason to keep it.
    (void)GB_TRY(
        connection.run("DELETE FROM sandboxes WHERE tenant = ?1 AND ended_at IS NOT NULL", name));
    (void)GB_TRY(connection.run("DELETE FROM templates WHERE tenant = ?1", name));
    Result<std::uint64_t> found = connection.run("DELETE FROM tenants WHERE name = ?1", name);
    if (!found && found.error().code() == ErrorCode::kNotFound) {
      // Foreign keys of what it still has refer to it.
      return Error(ErrorCode::kConflict, "the tenant still has sandboxes or volumes",
                   "remove them first");
    }
    return GB_TRY(std::move(found)) == 0 ? no_such_tenant() : Result<void>();
  });
}

Result<std::vector<TenantRecord>> TenantRecords::all() {
  return database_.read([](Connection& connection) -> Result<std::vector<TenantRecord>> {
    Statement row =
        GB_TRY(connection.query("SELECT name, created, sandboxes, memory, cpus, disk, executions,"
                                " requests_per_second, burst FROM tenants ORDER BY name"));
    std::vector<TenantRecord> records;
    while (GB_TRY(row.next())) {
      TenantRecord& record = records.emplace_back();
      record.name = row.text();
      record.created = row.time();
      record.quotas.sandboxes = row.optional_count();
      record.quotas.memory = bytes_of(row.optional_count());
      record.quotas.cpus = row.optional_real();
      record.quotas.disk = bytes_of(row.optional_count());
      record.quotas.executions = row.optional_count();
      record.quotas.requests_per_second = row.optional_real();
      record.quotas.burst = row.optional_real();
    }
    return records;
  });
}

}  // namespace glovebox
