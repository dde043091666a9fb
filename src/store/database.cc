// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <cstdint>

#include "store/transaction.h"

namespace glovebox {
namespace {

// "GBox", by which file(1) and we recognise it (sqlite.org/pragma.html#pragma_application_id).
constexpr std::int64_t kApplicationId = 0x47426f78;
// Reads take microseconds; running more of them at once than there are processors is of no use.
constexpr std::size_t kMostReaders = 8;

Result<std::int64_t> number(Connection& connection, Sql sql) {
  Statement statement = GB_TRY(connection.query(sql));
  return GB_TRY(statement.next()) ? statement.integer() : 0;
}

// A single statement, so a single moment: another process may be making the same database.
Result<void> check_ours(Connection& connection) {
  Statement row =
      GB_TRY(connection.query("SELECT (SELECT application_id FROM pragma_application_id),"
                              " (SELECT count(*) FROM sqlite_schema)"));
  (void)GB_TRY(row.next());
  const std::int64_t id = row.integer();
  const std::int64_t tables = row.integer();
  if (id == kApplicationId || (id == 0 && tables == 0)) {  // Ours, or a new one.
    return {};
  }
  return Error(ErrorCode::kInvalid, "the database belongs to another program",
               "use another data directory");
}

// A version cannot be bound to a PRAGMA, and a number is not a literal: the schema's own table
// keeps it, in the same transaction as the step.
Result<std::int64_t> version_of(Connection& connection) {
  const std::int64_t known =
      GB_TRY(number(connection, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_steps'"));
  return known == 0 ? Result<std::int64_t>(0)
                    : number(connection, "SELECT coalesce(max(number), 0) FROM schema_steps");
}

Result<bool> apply_next(Connection& connection, std::span<const Migration> steps) {
  Transaction transaction = GB_TRY(Transaction::begin(connection));
  // Read inside the transaction: another process may have been faster.
  const std::int64_t version = GB_TRY(version_of(connection));
  for (const Migration& step : steps) {
    if (step.number <= version) {
      continue;
    }
    GB_CHECK(step.number == version + 1);
    GB_TRY(connection.script(step.sql));
    (void)GB_TRY(connection.run(
        "INSERT INTO schema_steps (number, applied) VALUES (?1, unixepoch())", step.number));
    GB_TRY(transaction.commit());
    return true;
  }
  return false;
}

Result<void> bring_up_to_date(Connection& connection, std::span<const Migration> steps) {
  GB_TRY(check_ours(connection));
  const std::int64_t newest = steps.empty() ? 0 : steps.back().number;
  const std::int64_t version = GB_TRY(version_of(connection));
  if (version > newest) {
    return Error(ErrorCode::kUnsupported,
                 "the database has version " + std::to_string(version) +
                     ", but this program supports versions up to " + std::to_string(newest),
                 "upgrade glovebox to that version or later, or use another data directory");
  }
  if (version == 0) {
    Transaction transaction = GB_TRY(Transaction::begin(connection));
    GB_TRY(connection.script(
        "PRAGMA application_id = 1195536248;"
        "CREATE TABLE IF NOT EXISTS schema_steps (number INTEGER PRIMARY KEY, applied INTEGER NOT "
        "NULL) STRICT;"));
    GB_TRY(transaction.commit());
  }
  while (GB_TRY(apply_next(connection, steps))) {
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path,
                                                 std::span<const Migration> steps,
                                                 Keeping keeping) {
  Connection connection = GB_TRY(Connection::open(path));
  Result<void> current = bring_up_to_date(connection, steps);
  if (!current) {
    return std::move(current).error().within("open " + path);
  }
  return std::unique_ptr<Database>(new Database(path, std::move(connection), keeping));
}

Database::~Database() = default;

PendingWrite Database::begin_write(Work work, Durability durability) {
  return writer_.begin(std::move(work), durability);
}

void Database::leave_write(Work work, Durability durability) {
  writer_.leave(std::move(work), durability);
}

Result<Database::Reader> Database::borrow() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || opened_ < kMostReaders; });
  if (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return Reader(this, std::move(connection));
  }
  ++opened_;
  lock.unlock();
  Result<Connection> made = Connection::open(path_);
  Result<void> narrowed = made ? made->script("PRAGMA query_only = ON") : made.error();
  if (!narrowed) {
    lock.lock();
    --opened_;
    returned_.notify_one();
    return std::move(narrowed).error();
  }
  return Reader(this, std::make_unique<Connection>(std::move(made).value()));
}

Database::Reader::~Reader() {
  if (connection_ == nullptr) {
    return;
  }
  {
    const std::scoped_lock lock(database_->mutex_);
    database_->idle_.push_back(std::move(connection_));
  }
  database_->returned_.notify_one();
}

}  // namespace glovebox
