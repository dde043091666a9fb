// SPDX-License-Identifier: Apache-2.0
#include "store/idempotency_records.h"

namespace glovebox {
namespace {

using Kind = IdempotencyOutcome::Kind;

constexpr SqlPart kSelect = "SELECT tenant, key, what, subject, expires FROM idempotency ";
constexpr auto kUnfinished = kSelect + SqlPart("WHERE answer IS NULL ORDER BY tenant, key");
constexpr auto kInFiles = kSelect + SqlPart("WHERE place = 1 ORDER BY tenant, key");

Result<IdempotencyOutcome> claim_in(Connection& connection,
                                    const IdempotencyClaim& claim,
                                    SystemTime now) {
  // Takes the key if it is free or expired; otherwise changes no row.
  const std::uint64_t taken = GB_TRY(connection.run(
      "INSERT INTO idempotency (tenant, key, what, subject, answer, expires)"
      " VALUES (?1, ?2, ?3, ?4, NULL, ?5)"
      " ON CONFLICT (tenant, key) DO UPDATE SET what = excluded.what, subject = excluded.subject,"
      " answer = NULL, place = 0, expires = excluded.expires WHERE idempotency.expires <= ?6",
      claim.tenant, claim.key, claim.what, claim.subject, claim.expires, now));
  if (taken != 0) {
    IdempotencyOutcome first;
    first.subject = claim.subject;
    return first;
  }
  Statement row = GB_TRY(connection.query(
      "SELECT what, subject, answer, place FROM idempotency WHERE tenant = ?1 AND key = ?2",
      claim.tenant, claim.key));
  if (!GB_TRY(row.next())) {
    return Error(ErrorCode::kInternal, "an idempotency key is neither free nor taken");
  }
  if (row.text() != claim.what) {
    return Error(ErrorCode::kConflict,
                 "the idempotency key was already used for a different request",
                 "use a new key for each new request");
  }
  IdempotencyOutcome outcome;
  outcome.subject = row.text();
  const std::optional<std::string> answer = row.optional_text();
  outcome.kind = answer ? Kind::kAnswered : Kind::kUnderWay;
  outcome.answer = answer.value_or("");
  outcome.place = static_cast<AnswerPlace>(row.integer());  // The schema bounds it.
  return outcome;
}

Result<std::vector<IdempotencyClaim>> claims_of(Connection& connection, Sql sql) {
  Statement row = GB_TRY(connection.query(sql));
  std::vector<IdempotencyClaim> claims;
  while (GB_TRY(row.next())) {
    IdempotencyClaim& claim = claims.emplace_back();
    claim.tenant = row.text();
    claim.key = row.text();
    claim.what = row.text();
    claim.subject = row.text();
    claim.expires = row.time();
  }
  return claims;
}

}  // namespace

Result<IdempotencyOutcome> IdempotencyRecords::claim(const IdempotencyClaim& claim,
                                                     SystemTime now,
                                                     Durability durability) {
  return database_.write([&](Connection& connection) { return claim_in(connection, claim, now); },
                         durability);
}

Result<void> IdempotencyRecords::finish(std::string_view tenant,
                                        std::string_view key,
                                        std::string_view subject,
                                        std::string_view answer,
                                        Durability durability,
                                        AnswerPlace place) {
  return database_.write(
      [&](Connection& connection) -> Result<void> {
        const std::uint64_t found = GB_TRY(
            connection.run("UPDATE idempotency SET answer = ?4, place = ?5"
                           " WHERE tenant = ?1 AND key = ?2 AND subject = ?3 AND answer IS NULL",
                           tenant, key, subject, answer, static_cast<std::int64_t>(place)));
        if (found == 0) {
          return Error(ErrorCode::kNotFound, "the claim on this idempotency key has expired");
        }
        return {};
      },
      durability);
}

Result<void> IdempotencyRecords::abandon(std::string_view tenant,
                                         std::string_view key,
                                         std::string_view subject) {
  return database_.write(
      [&](Connection& connection) -> Result<void> {
        (void)GB_TRY(
            connection.run("DELETE FROM idempotency"
                           " WHERE tenant = ?1 AND key = ?2 AND subject = ?3 AND answer IS NULL",
                           tenant, key, subject));
        return {};
      },
      Durability::kProcess);
}

Result<std::vector<IdempotencyClaim>> IdempotencyRecords::unfinished() {
  return database_.read([](Connection& connection) { return claims_of(connection, kUnfinished); });
}

Result<std::vector<IdempotencyClaim>> IdempotencyRecords::answered_by_files() {
  return database_.read([](Connection& connection) { return claims_of(connection, kInFiles); });
}

Result<std::uint64_t> IdempotencyRecords::forget_expired(SystemTime now, std::size_t most) {
  return database_.write(
      [&](Connection& connection) {
        return connection.run(
            "DELETE FROM idempotency WHERE (tenant, key) IN (SELECT tenant, key FROM idempotency"
            " WHERE expires <= ?1 ORDER BY expires LIMIT ?2)",
            now, most);
      },
      Durability::kProcess);
}

}  // namespace glovebox
