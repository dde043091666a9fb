// SPDX-License-Identifier: Apache-2.0
// Journal: what happened, in order, in files that reveal whether somebody has changed them.
//
// A thread that appends writes the line itself, in its turn. Of the threads that wait for the disk,
// one flushes for all with one fdatasync(2), after it lets others join that are about to wait. A
// thread that will wait, and has nothing to do before, flushes meanwhile (flush_meanwhile()), so
// no thread hands over to another. Writing is in journal_segment.cc, flushing in journal_flush.cc.
// The journal's own thread flushes what nobody waits for (Haste), signs a checkpoint after some
// records or some time, and renews the head. Promised room is allocated beforehand (reserve()), so
// that an act that has begun can be recorded even if the disk has filled up meanwhile. It is
// filled with zeros: a flush of records then changes nothing about the file that the file system
// would have to write to a journal of its own.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "audit/head.h"
#include "audit/record.h"
#include "audit/signing.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::audit {

class Journal;

// What is on the disk when wait() returns.
enum class Durability {
  // Not even the record waited for: records survive the death of this program, but a power failure
  // takes those since the last checkpoint.
  kRelaxed,
  // The record waited for. Executions wait for that of their start (service/guarded/recorder.h).
  kRequests,
  kAll,  // Executions also wait for the record of their end.
};
// "relaxed", "requests", "durable".
[[nodiscard]] std::string_view to_string(Durability durability);

// When a record that nobody waits for is flushed to the disk.
enum class Haste {
  kNone,  // With the next record that somebody waits for, or with a checkpoint.
  kSoon,  // Within some milliseconds.
};

// Room for the records of one act, held until they are written and, if wanted, waited for. The
// journal outlives it.
class [[nodiscard]] Room {
 public:
  Room() = default;
  Room(Room&& other) noexcept;
  Room& operator=(Room&& other) noexcept;
  ~Room();

 private:
  friend class Journal;
  Room(Journal& journal, std::size_t bytes)
      : journal_(&journal), bytes_(bytes), since_(std::chrono::steady_clock::now()) {}

  Journal* journal_ = nullptr;
  std::size_t bytes_ = 0;
  std::chrono::steady_clock::time_point since_;
};

// Safe to use from any thread.
class Journal {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  struct Options {
    Durability durability = Durability::kAll;
    std::size_t segment_size = 16UL << 20;  // Bytes after which another segment is begun.
    std::size_t checkpoint_records = 4096;
    std::chrono::milliseconds checkpoint_time{1000};
    // How long complete segments are kept after their last record; none: forever.
    std::optional<std::chrono::seconds> keep{};
    std::string witness{};  // A file, elsewhere, to which each head is appended; empty: none.
    Clock clock = std::chrono::system_clock::now;
  };

  // Opens the journal of a directory, or begins one. Cuts off what a death in the middle of a write
  // left behind, and records that. kUnavailable if the journal is not as it was left: a key, a
  // head, or records that the head covers are missing or were changed. kConflict while another
  // program writes it.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, Options options);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();  // Signs what is not signed yet.

  // Room for records of this many bytes. kUnavailable if there is none, or if the journal has
  // failed. `from_reserve` also draws on the room that is kept for acts that free something.
  Result<Room> reserve(std::size_t bytes = kUsualLine, bool from_reserve = false);

  // Writes a record, and returns its number. The record survives the death of this program. With
  // room reserved for the record, this fails only if the disk does.
  Result<std::uint64_t> append(const Entry& entry, Haste haste = Haste::kNone);
  // For a thread that will wait() for the record and has nothing to do before: flushes it, and all
  // records before it. Returns at once if that is done, if another thread is flushing, or if others
  // are at work and one of them will flush, so that they share a flush.
  void flush_meanwhile(std::uint64_t number);
  // Blocks until the record is as durable as the options say.
  Result<void> wait(std::uint64_t number);
  Result<void> record(const Entry& entry);  // append() and wait().

  [[nodiscard]] Durability durability() const { return options_.durability; }
  // The last record that is known to be on the disk, and all before it.
  [[nodiscard]] std::uint64_t durable_through() const { return durable_; }

  // Signs what is not signed yet, and renews the head.
  Result<void> checkpoint();

  [[nodiscard]] const std::string& directory() const { return path_; }

 private:
  friend class Room;
  using Steady = std::chrono::steady_clock;
  static constexpr Steady::time_point kNever = Steady::time_point::max();

  Journal(std::string path, Options options, UniqueFd directory, UniqueFd head, SigningKey key);

  Result<void> recover();
  // These need the lock, except recover(), end_act(), loop() and publish().
  Result<void> write(std::string_view fields);
  Result<void> write_body(std::string_view fields, bool with_signature);
  Result<void> write_line(std::string_view line);
  Result<void> write_checkpoint();
  Result<void> begin_segment();
  Result<void> rotate();
  Result<void> allocate(std::size_t beyond);
  Result<void> remove_old();
  [[nodiscard]] Steady::time_point checkpoint_due() const;
  void end_act(std::size_t bytes, Steady::time_point since);
  [[nodiscard]] bool hurry();
  [[nodiscard]] bool wakes_before(Steady::time_point by);
  void publish_room();
  void loop();
  void lead(std::unique_lock<std::mutex>& lock);
  void flush_group(std::unique_lock<std::mutex>& lock);
  void gather(std::unique_lock<std::mutex>& lock);
  void wake_all();
  Result<void> flush(std::unique_lock<std::mutex>& lock, bool renew_head);
  Result<void> publish(const Head& head);
  void fail(const Error& error);

  const std::string path_;
  const Options options_;
  const UniqueFd directory_;
  const UniqueFd head_file_;
  const SigningKey key_;
  UniqueFd witness_;

  std::mutex mutex_;
  std::condition_variable changed_;   // For the thread.
  std::condition_variable gathered_;  // For the thread that leads a group.
  // For threads that wait for the disk: the group whose records are being flushed, and the next.
  std::array<std::condition_variable, 2> flushed_;
  std::shared_ptr<UniqueFd> file_;
  std::uint64_t segment_ = 0;    // The number of its first record.
  std::uint64_t rotate_at_ = 0;  // The size at which another segment is begun.
  std::uint64_t size_ = 0;       // Of the file.
  std::uint64_t allocated_ = 0;  // Bytes of the file that have room on the disk.
  bool allocates_ = true;        // Whether the file system can promise room.
  // The atomic ones are also changed and read without the lock.
  std::atomic<std::uint64_t> unused_ = 0;  // Allocated bytes that reserve() may count on.
  std::atomic<std::uint64_t> reserved_ = 0;
  std::atomic<std::size_t> acts_ = 0;                                             // That hold room,
  std::atomic<std::chrono::nanoseconds> usual_act_{std::chrono::nanoseconds(0)};  // for how long.
  std::uint64_t number_ = 0;  // Of the last record,
  std::string hash_;          // its hash,
  std::string time_;          // and its time.
  std::uint64_t signed_ = 0;  // The last checkpoint.
  Steady::time_point first_unsigned_{};
  Steady::time_point not_before_{};         // For the next one.
  std::atomic<std::uint64_t> durable_ = 0;  // The last record that was flushed.
  bool leading_ = false;                    // A thread gathers a group, or flushes for it.
  std::uint64_t target_ = 0;  // The last record of the group flushed last, or being flushed.
  unsigned group_ = 0;        // The number of the group that can be joined,
  std::size_t joined_ = 0;    // and how many threads have joined it.
  unsigned lonely_ = 0;       // Grows with each group in a row that nobody joined during its wait:
  unsigned hasty_ = 0;        // this many of the next groups do not wait.
  // When the thread flushes next, for records up to `hurried_`, and when it wakes up by itself.
  Steady::time_point flush_due_ = kNever;
  std::uint64_t hurried_ = 0;
  std::uint64_t slept_on_ = 0;  // The value of `hurried_` when it last fell asleep.
  Steady::time_point wakes_at_ = Steady::time_point::min();
  Steady::time_point flush_began_{};  // The last flush.
  std::optional<Error> failed_;
  bool stopping_ = false;

  std::mutex publishing_;  // Heads are written one after the other.
  unsigned place_ = 0;
  std::uint64_t published_ = 0;
  std::thread thread_;  // Last: it uses all of the above.
};

// Where a daemon's data directory holds its journal.
[[nodiscard]] std::string journal_directory(const std::string& data_directory);

}  // namespace glovebox::audit
