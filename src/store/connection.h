// SPDX-License-Identifier: Apache-2.0
// Connection and Statement: SQLite (https://sqlite.org/c3ref/intro.html) with Results, owners and
// statements that only this program's source can have written.
//
// For one thread at a time, which is how Database hands connections out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "store/sql.h"

struct sqlite3;
struct sqlite3_stmt;

namespace glovebox {

using SystemTime = std::chrono::system_clock::time_point;

class Connection;

// Bytes that are not text.
struct Blob {
  std::string_view bytes;
};

// A statement with its parameters bound. Its destructor returns it to its connection, which must
// outlive it.
class [[nodiscard]] Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  // Goes to the next row; false if there is none.
  Result<bool> next();

  // The columns of the row, one after the other in the statement's order. Requires: next()
  // returned true, and no more columns are taken than the statement names.
  std::int64_t integer();
  std::uint64_t count();  // Zero for a negative number.
  bool boolean();
  double real();
  std::string text();  // Also for a blob.
  SystemTime time();
  std::optional<SystemTime> optional_time();
  std::optional<std::string> optional_text();
  std::optional<std::uint64_t> optional_count();
  std::optional<double> optional_real();

 private:
  friend class Connection;
  Statement(Connection* connection, sqlite3_stmt* statement, const char* key)
      : connection_(connection), statement_(statement), key_(key) {}

  void bind(std::nullptr_t);
  void bind(std::int64_t value);
  void bind(double value);
  void bind(std::string_view value);
  void bind(Blob value);
  void bind(SystemTime value);
  void bind(const char* value) { bind(std::string_view(value)); }
  void bind(const std::string& value) { bind(std::string_view(value)); }
  template <typename Number>
  requires std::is_integral_v<Number>
  void bind(Number value);
  template <typename Value>
  void bind(const std::optional<Value>& value);
  void bound(int code);
  bool is_null() const;

  Connection* connection_;
  sqlite3_stmt* statement_;
  const char* key_;
  int parameter_ = 0;
  int column_ = 0;
  std::optional<Error> refused_;  // Of the first parameter that could not be bound.
};

class Connection {
 public:
  // Opens or creates the file, readable by its owner only, with the settings that all connections
  // share: WAL, synchronous=FULL, foreign keys, a busy timeout, no schema that runs code.
  // kUnsupported if the file system cannot do WAL, kInvalid if the file is not a database.
  static Result<Connection> open(const std::string& path);

  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // A statement that returns with rows. Parameters are numbered from ?1. Text must be UTF-8 without
  // a null byte (kInvalid): a length checked in the schema is then a length of all of it.
  template <typename... Parameters>
  Result<Statement> query(Sql sql, const Parameters&... parameters) {
    Statement statement = GB_TRY(prepare(sql));
    (statement.bind(parameters), ...);
    GB_TRY(check_bound(statement, sizeof...(Parameters)));
    return statement;
  }

  // A statement without rows. Returns how many rows it changed.
  // Broken rules of the schema: kConflict for what exists already, kNotFound if a foreign key names
  // something missing, kInvalid for a value out of bounds. kUnavailable if the disk is full.
  template <typename... Parameters>
  Result<std::uint64_t> run(Sql sql, const Parameters&... parameters) {
    Statement statement = GB_TRY(query(sql, parameters...));
    return run_to_end(statement);
  }

  // Runs several statements without parameters, such as those of a migration.
  Result<void> script(Sql sql);

  // True between BEGIN and COMMIT. SQLite ends a transaction by itself after some errors.
  [[nodiscard]] bool in_transaction() const;

 private:
  friend class Statement;
  explicit Connection(sqlite3* handle) : handle_(handle) {}
  Result<Statement> prepare(Sql sql);
  static Result<void> check_bound(Statement& statement, std::size_t given);
  Result<std::uint64_t> run_to_end(Statement& statement);
  [[nodiscard]] Error error(std::string_view attempt) const;

  sqlite3* handle_;
  // Prepared earlier and free now, by the address of their text. Their number is bounded by that
  // of the program's literals.
  std::multimap<const char*, sqlite3_stmt*> idle_;
};

template <typename Number>
requires std::is_integral_v<Number>
void Statement::bind(Number value) {
  if constexpr (sizeof(Number) == sizeof(std::int64_t) && std::is_unsigned_v<Number>) {
    if (value > static_cast<Number>(INT64_MAX)) {
      refused_ = Error(ErrorCode::kInvalid, "a number does not fit in 63 bits");
      return;
    }
  }
  bind(static_cast<std::int64_t>(value));
}

template <typename Value>
void Statement::bind(const std::optional<Value>& value) {
  value ? bind(*value) : bind(nullptr);
}

}  // namespace glovebox
