// SPDX-License-Identifier: Apache-2.0
// Transaction: what happens until commit() happens altogether or not at all.
#pragma once

#include "base/result.h"
#include "store/connection.h"

namespace glovebox {

class [[nodiscard]] Transaction {
 public:
  // Takes the right to write at once, so that no later statement finds it taken.
  static Result<Transaction> begin(Connection& connection);

  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();  // Undoes all, unless committed.

  // On the disk when it returns, as far as the connection's `synchronous` says so. After a failure
  // nothing has happened.
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
