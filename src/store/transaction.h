// SPDX-License-Identifier: Apache-2.0
// Transaction: everything up to commit() happens, or nothing does.
#pragma once

#include "base/result.h"
#include "store/connection.h"

namespace glovebox {

class [[nodiscard]] Transaction {
 public:
  // Takes the write lock at once, so that no later statement finds it taken.
  static Result<Transaction> begin(Connection& connection);

  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();  // Undoes everything, unless committed.

  // The changes are on the disk when it returns, if the connection's `synchronous` says so. After a
  // failure nothing has happened.
  Result<void> commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

// A part of a transaction that can be undone alone.
class [[nodiscard]] Savepoint {
 public:
  static Result<Savepoint> begin(Connection& connection);

  Savepoint(Savepoint&& other) noexcept;
  Savepoint& operator=(Savepoint&&) = delete;
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  ~Savepoint();  // Undoes the part, unless kept.

  Result<void> keep();

 private:
  explicit Savepoint(Connection* connection) : connection_(connection) {}
  Connection* connection_;
};

}  // namespace glovebox
