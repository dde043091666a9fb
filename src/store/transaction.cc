// SPDX-License-Identifier: Apache-2.0
#include "store/transaction.h"

#include <utility>

namespace glovebox {

Result<Transaction> Transaction::begin(Connection& connection) {
  (void)GB_TRY(connection.run("BEGIN IMMEDIATE"));
  return Transaction(&connection);
}

Transaction::Transaction(Transaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

Transaction::~Transaction() {
  if (connection_ != nullptr && connection_->in_transaction()) {
    (void)connection_->run("ROLLBACK");
  }
}

Result<void> Transaction::commit() {
  (void)GB_TRY(connection_->run("COMMIT"));
  connection_ = nullptr;
  return {};
}

Result<Savepoint> Savepoint::begin(Connection& connection) {
  (void)GB_TRY(connection.run("SAVEPOINT part"));
  return Savepoint(&connection);
}

Savepoint::Savepoint(Savepoint&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

Savepoint::~Savepoint() {
  if (connection_ != nullptr && connection_->in_transaction()) {
    (void)connection_->run("ROLLBACK TO part");
    (void)connection_->run("RELEASE part");
  }
}

Result<void> Savepoint::keep() {
  (void)GB_TRY(connection_->run("RELEASE part"));
  connection_ = nullptr;
  return {};
}

}  // namespace glovebox
