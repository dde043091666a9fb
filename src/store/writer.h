// SPDX-License-Identifier: Apache-2.0
// Writer: the one thread that writes, and commits the work of many callers with one flush.
//
// A flush of the disk takes milliseconds, whatever it flushes. So the writer takes all waiting
// work and runs it in one transaction, in which a caller's part that fails is undone alone, and
// answers all callers once that is on the disk. Meanwhile the next group gathers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "store/connection.h"
#include "store/keeping.h"

namespace glovebox {

// What an acknowledged write survives. Neither can leave the database torn: a power failure takes
// away only the latest writes, in order.
enum class Durability {
  kPower,    // A power failure too: the disk has flushed it.
  kProcess,  // Death of this program at any moment, for what a power failure ends anyway. Takes
  // microseconds; kPower takes milliseconds.
};

// Runs on the writer's thread. It must use nothing but the connection and what it owns, since its
// caller may hold a lock, and must not write through the Writer again.
using Work = std::function<Result<void>(Connection&)>;

namespace detail {
struct Job;
}

// A write under way. Dropping it does not take the write back.
class [[nodiscard]] PendingWrite {
 public:
  // Blocks until the write is as durable as requested, or has failed and left no trace. Call once.
  Result<void> wait();

 private:
  friend class Writer;
  explicit PendingWrite(std::shared_ptr<detail::Job> job) : job_(std::move(job)) {}
  std::shared_ptr<detail::Job> job_;
};

// Safe to use from any thread.
class Writer {
 public:
  explicit Writer(Connection connection, Keeping keeping = Keeping::kLasting);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();  // Finishes what was begun.

  PendingWrite begin(Work work, Durability durability);
  // For work that nobody waits for: it is written in its turn, and a failure is not reported. With
  // kUntilEnd, it may be written milliseconds later, together with what comes meanwhile, so that
  // the caller gets the processor first. With kLasting it is written at once: the death of this
  // program must not take it.
  void leave(Work work, Durability durability);

 private:
  using Group = std::vector<std::shared_ptr<detail::Job>>;

  std::shared_ptr<detail::Job> add(Work work, Durability durability, bool awaited);
  void loop();
  void commit(Group& group);
  Result<void> run_all(Group& group);
  Result<void> set_flush(Durability durability);

  Connection connection_;
  const Keeping keeping_;
  Durability set_ = Durability::kPower;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::shared_ptr<detail::Job>> queue_;
  std::size_t awaited_ = 0;  // How many jobs in the queue somebody waits for.
  bool stopping_ = false;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace glovebox
