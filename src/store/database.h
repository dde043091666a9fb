// SPDX-License-Identifier: Apache-2.0
// Database: the daemon's one SQLite file, its version, and who may use the file when.
//
// Readers see the last committed state and wait for no writer (sqlite.org/wal.html); writers wait
// for each other, and share their flushes (store/writer.h).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/connection.h"
#include "store/migrations.h"
#include "store/writer.h"

namespace glovebox {

// Safe to use from any thread. Not to be used by a child after a fork.
class Database {
 public:
  // Opens or creates the file and brings it to the version of this program. kUnsupported if it is
  // of a later version, kInvalid if it is not ours; both leave it as it was.
  static Result<std::unique_ptr<Database>> open(const std::string& path,
                                                std::span<const Migration> steps = migrations(),
                                                Keeping keeping = Keeping::kLasting);

  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();  // Finishes the writes that were begun. No other thread may still use it.

  // Runs `work(connection)`, which returns a Result<T>, in a transaction; returns its result once
  // the transaction is durable. If it returns an error, it leaves no trace. See Work for its rules.
  template <typename Function>
  auto write(Function work, Durability durability = Durability::kPower)
      -> std::invoke_result_t<Function&, Connection&> {
    std::optional<std::invoke_result_t<Function&, Connection&>> answer;
    GB_TRY(begin_write(
               [&](Connection& connection) -> Result<void> {
                 answer.emplace(work(connection));
                 return *answer ? Result<void>() : answer->error();
               },
               durability)
               .wait());
    return std::move(*answer);
  }

  // Like write(), without waiting: `work` must own what it uses.
  PendingWrite begin_write(Work work, Durability durability = Durability::kPower);
  // For a write that nobody waits for, as Writer::leave().
  void leave_write(Work work, Durability durability);

  // Runs `work(connection)`, which returns a Result<T> and cannot write. Its result must not refer
  // to the connection, and it must not read through the Database again.
  template <typename Function>
  auto read(Function work) -> std::invoke_result_t<Function&, Connection&> {
    Reader reader = GB_TRY(borrow());
    return work(reader.connection());
  }

 private:
  // A connection for reading, which the destructor returns to the Database.
  class Reader {
   public:
    Reader(Database* database, std::unique_ptr<Connection> connection)
        : database_(database), connection_(std::move(connection)) {}
    Reader(Reader&& other) = default;
    Reader& operator=(Reader&&) = delete;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader();
    Connection& connection() { return *connection_; }

   private:
    Database* database_;
    std::unique_ptr<Connection> connection_;
  };

  Database(std::string path, Connection writing, Keeping keeping)
      : path_(std::move(path)), writer_(std::move(writing), keeping) {}
  Result<Reader> borrow();

  std::string path_;
  Writer writer_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t opened_ = 0;
};

}  // namespace glovebox
