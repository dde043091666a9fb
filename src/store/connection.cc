// SPDX-License-Identifier: Apache-2.0
#include "store/connection.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using std::chrono::nanoseconds;

// How long another process, a backup say, may hold the database before we give up.
constexpr int kBusyMilliseconds = 5'000;
// A row larger than this is a mistake of ours: what clients may store is bounded far below.
constexpr int kMostRowBytes = 16 << 20;

ErrorCode code_of(int extended) {
  switch (extended) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_ROWID:
      return ErrorCode::kConflict;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return ErrorCode::kNotFound;
    default:
      break;
  }
  switch (extended & 0xff) {
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_NOTADB:
      return ErrorCode::kInvalid;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_FULL:  // Our disk is full; this is not a limit of the caller's.
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CORRUPT:
    case SQLITE_NOMEM:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

std::string hint_of(int extended) {
  switch (extended & 0xff) {
    case SQLITE_FULL:
      return "free some space on the data directory's disk";
    case SQLITE_BUSY:
      return "another process has locked the database; stop it, or try again";
    case SQLITE_CORRUPT:
      return "restore the database from a backup, or move it away; `sqlite3 FILE .recover` "
             "salvages "
             "what can be read";
    case SQLITE_NOTADB:
      return "move the file away, or use another data directory";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return "check who owns the data directory and its files";
    default:
      return {};
  }
}

// Made here, since SQLite would use the umask's mode. Only if it did not exist: closing a
// descriptor of a database in use would drop its locks (fcntl(2)).
Result<void> create_private(const std::string& path) {
  const UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno != EEXIST) {
    return Error::from_errno("create " + path);
  }
  return {};
}

Result<std::string> ask_for_log(Connection& connection) {
  Statement journal = GB_TRY(connection.query("PRAGMA journal_mode = WAL"));
  return GB_TRY(journal.next()) ? journal.text() : std::string();
}

// The switch to a write-ahead log turns a read lock into a write lock, and SQLite calls no busy
// handler then: two that open a new database at once refuse each other. So we wait ourselves.
Result<std::string> switch_to_log(Connection& connection, sqlite3* handle) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyMilliseconds);
  for (;;) {
    auto mode = ask_for_log(connection);
    const bool busy = !mode && (::sqlite3_errcode(handle) & 0xff) == SQLITE_BUSY;
    if (!busy || std::chrono::steady_clock::now() >= deadline) {
      return mode;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<void> configure(Connection& connection, sqlite3* handle, const std::string& path) {
  (void)::sqlite3_extended_result_codes(handle, 1);
  (void)::sqlite3_busy_timeout(handle, kBusyMilliseconds);
  (void)::sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostRowBytes);
  (void)::sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1);
  // A database that somebody prepared must not make us do more than read and write it.
  (void)::sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  (void)::sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // "name" is a column or an error, never a string.
  (void)::sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  (void)::sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  if (GB_TRY(switch_to_log(connection, handle)) != "wal") {
    return Error(ErrorCode::kUnsupported, "write-ahead logging is not available for " + path,
                 "put the data directory on a local file system");
  }
  // The log is cut back to this size after a burst. Deleted and replaced data is overwritten: it
  // may have been somebody's token.
  return connection.script(
      "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 33554432;"
      "PRAGMA secure_delete = ON;");
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      key_(other.key_),
      parameter_(other.parameter_),
      column_(other.column_),
      refused_(std::move(other.refused_)) {}

Statement::~Statement() {
  if (statement_ == nullptr) {
    return;
  }
  (void)::sqlite3_reset(statement_);
  (void)::sqlite3_clear_bindings(statement_);
  connection_->idle_.emplace(key_, statement_);
}

Result<bool> Statement::next() {
  column_ = 0;
  switch (::sqlite3_step(statement_)) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      return connection_->error("run a statement");
  }
}

bool Statement::is_null() const {
  return ::sqlite3_column_type(statement_, column_) == SQLITE_NULL;
}

std::int64_t Statement::integer() { return ::sqlite3_column_int64(statement_, column_++); }

std::uint64_t Statement::count() {
  const std::int64_t value = integer();
  return value < 0 ? 0 : static_cast<std::uint64_t>(value);
}

bool Statement::boolean() { return integer() != 0; }

double Statement::real() { return ::sqlite3_column_double(statement_, column_++); }

std::string Statement::text() {
  // In this order, the size is that of the bytes pointed to (sqlite3_column_blob).
  const void* bytes = ::sqlite3_column_blob(statement_, column_);
  const int size = ::sqlite3_column_bytes(statement_, column_++);
  return bytes == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

SystemTime Statement::time() {
  return SystemTime(std::chrono::duration_cast<SystemTime::duration>(nanoseconds(integer())));
}

std::optional<SystemTime> Statement::optional_time() {
  return is_null() ? (++column_, std::nullopt) : std::optional(time());
}

std::optional<std::string> Statement::optional_text() {
  return is_null() ? (++column_, std::nullopt) : std::optional(text());
}

std::optional<std::uint64_t> Statement::optional_count() {
  return is_null() ? (++column_, std::nullopt) : std::optional(count());
}

std::optional<double> Statement::optional_real() {
  return is_null() ? (++column_, std::nullopt) : std::optional(real());
}

void Statement::bound(int code) {
  if (code != SQLITE_OK && !refused_) {
    refused_ = connection_->error("bind a parameter");
  }
}

void Statement::bind(std::nullptr_t) { bound(::sqlite3_bind_null(statement_, ++parameter_)); }

void Statement::bind(std::int64_t value) {
  bound(::sqlite3_bind_int64(statement_, ++parameter_, value));
}

void Statement::bind(double value) {
  bound(::sqlite3_bind_double(statement_, ++parameter_, value));
}

void Statement::bind(std::string_view value) {
  if (value.find('\0') != std::string_view::npos || !is_utf8(value)) {
    refused_ = Error(ErrorCode::kInvalid, "a string is not UTF-8, or contains a NUL byte");
    return;
  }
  // An empty view may point nowhere, which would bind NULL.
  bound(::sqlite3_bind_text64(statement_, ++parameter_, value.empty() ? "" : value.data(),
                              value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind(Blob value) {
  bound(::sqlite3_bind_blob64(statement_, ++parameter_,
                              value.bytes.empty() ? "" : value.bytes.data(), value.bytes.size(),
                              SQLITE_TRANSIENT));
}

void Statement::bind(SystemTime value) {
  bind(std::int64_t{std::chrono::duration_cast<nanoseconds>(value.time_since_epoch()).count()});
}

Result<Connection> Connection::open(const std::string& path) {
  GB_TRY(create_private(path));
  sqlite3* handle = nullptr;
  // SQLite's own mutexes are off: a connection has one user at a time.
  const int code = ::sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Connection connection(handle);  // Even after a failure, the handle has to be closed.
  if (code != SQLITE_OK) {
    return connection.error("open " + path);
  }
  Result<void> configured = configure(connection, handle, path);
  if (!configured) {
    return std::move(configured).error().within("open " + path);
  }
  return connection;
}

Connection::Connection(Connection&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), idle_(std::move(other.idle_)) {
  other.idle_.clear();
}

Connection::~Connection() {
  for (const auto& [key, statement] : idle_) {
    (void)::sqlite3_finalize(statement);
  }
  (void)::sqlite3_close(handle_);
}

Result<Statement> Connection::prepare(Sql sql) {
  const char* key = sql.text().data();
  const auto found = idle_.find(key);
  if (found != idle_.end()) {
    sqlite3_stmt* statement = found->second;
    idle_.erase(found);
    return Statement(this, statement, key);
  }
  sqlite3_stmt* statement = nullptr;
  const int code = ::sqlite3_prepare_v3(handle_, key, static_cast<int>(sql.text().size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) {
    return error("prepare a statement");
  }
  return Statement(this, statement, key);
}

Result<void> Connection::check_bound(Statement& statement, std::size_t given) {
  if (statement.refused_) {
    return *statement.refused_;
  }
  GB_CHECK(static_cast<std::size_t>(::sqlite3_bind_parameter_count(statement.statement_)) == given);
  return {};
}

Result<std::uint64_t> Connection::run_to_end(Statement& statement) {
  while (GB_TRY(statement.next())) {
  }
  return static_cast<std::uint64_t>(::sqlite3_changes64(handle_));
}

Result<void> Connection::script(Sql sql) {
  if (::sqlite3_exec(handle_, sql.text().data(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return error("run a script");
  }
  return {};
}

bool Connection::in_transaction() const { return ::sqlite3_get_autocommit(handle_) == 0; }

Error Connection::error(std::string_view attempt) const {
  if (handle_ == nullptr) {
    return {ErrorCode::kUnavailable, std::string(attempt) + ": out of memory"};
  }
  const int code = ::sqlite3_extended_errcode(handle_);
  return {code_of(code), std::string(attempt) + ": " + ::sqlite3_errmsg(handle_), hint_of(code)};
}

}  // namespace glovebox
