// SPDX-License-Identifier: Apache-2.0
// Journal: what happened, in order, in files that show whether somebody has changed them.
//
// Whoever appends writes the line itself, in its turn. Of those that wait for the disk, one flushes
// for all with one fdatasync(2): it first lets others join who are about to. Who will wait, and has
// nothing to do before, flushes meanwhile (flush_meanwhile()): so no thread hands over to another.
// Writing is in journal_segment.cc, flushing in journal_flush.cc.
// A thread flushes what nobody waits for (Haste), signs a checkpoint after some records or some
// time, and renews the head. What is promised to fit is allocated before (reserve()), so
// that an act that has begun can be recorded although the disk has filled up meanwhile. It is
// allocated as zeros: a flush of records then changes nothing about the file that the file system
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
  // Not even what is waited for: records survive the death of this program, and a power failure
  // takes those since the last checkpoint.
  kRelaxed,
  // What is waited for; and of executions, that they have begun (service/guarded/recorder.h).
  kRequests,
  kAll,  // And of executions, how they ended.
};
// "relaxed", "requests", "durable".
[[nodiscard]] std::string_view to_string(Durability durability);

// When a record is brought to the disk that nobody waits for.
enum class Haste {
  kNone,  // With the next one that is, or with a checkpoint.
  kSoon,  // Within some milliseconds.
};

// Room for the records of one act, which is held until they are written, and waited for where that
// is wanted. Ends before the journal does.
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
    // How long whole segments are kept after their last record; none: for ever.
    std::optional<std::chrono::seconds> keep{};
    std::string witness{};  // A file, elsewhere, to which each head is appended; empty: none.
    Clock clock = std::chrono::system_clock::now;
  };

  // Opens the journal of a directory, or begins one. Cuts what a death in the middle of a write has
  // left, and records that. kUnavailable where it is not what it was when it was closed: a key, a
  // head, or records that the head covers are missing or were changed. kConflict while another
  // program writes it.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, Options options);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();  // Signs what is not signed yet.

  // Room for records of this many bytes. kUnavailable where there is none, or where the journal
  // has failed. `from_reserve` also takes from what is kept for acts that free something.
  Result<Room> reserve(std::size_t bytes = kUsualLine, bool from_reserve = false);

  // Writes a record, and returns its number. It survives the death of this program. With room that
  // was reserved for it, it fails only where the disk does.
  Result<std::uint64_t> append(const Entry& entry, Haste haste = Haste::kNone);
  // For a thread that will wait() for the record and has nothing to do before: flushes it, and all
  // before it. Returns at once where that is done, where somebody flushes at the moment, or where
  // others are at work and one of them will, so that they share a flush.
  void flush_meanwhile(std::uint64_t number);
  // Blocks until the record is as durable as the options say.
  Result<void> wait(std::uint64_t number);
  Result<void> record(const Entry& entry);  // Both.

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
  // All of these but publish() with the lock.
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
  std::condition_variable gathered_;  // For who leads.
  // For those that wait for the disk: the group whose records are being flushed, and the next one.
  std::array<std::condition_variable, 2> flushed_;
  std::shared_ptr<UniqueFd> file_;
  std::uint64_t segment_ = 0;    // The number of its first record.
  std::uint64_t rotate_at_ = 0;  // The size at which another one is begun.
  std::uint64_t size_ = 0;       // Of the file.
  std::uint64_t allocated_ = 0;  // Bytes of it for which there is room on the disk.
  bool allocates_ = true;        // Whether the file system can promise it.
  // Those that are atomic are changed and read without the lock too.
  std::atomic<std::uint64_t> unused_ = 0;  // Of what is allocated, what reserve() may count on.
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
  bool leading_ = false;                    // Somebody gathers a group, or flushes for it.
  std::uint64_t target_ = 0;  // The last record of the group that was flushed last, or is now.
  unsigned group_ = 0;        // The number of the one that can be joined,
  std::size_t joined_ = 0;    // and how many have.
  unsigned lonely_ = 0;       // Grows with each group in a row that was waited for in vain:
  unsigned hasty_ = 0;        // so many of the next are not waited for.
  // When the thread flushes next, for records up to this one; and when it wakes up by itself.
  Steady::time_point flush_due_ = kNever;
  std::uint64_t hurried_ = 0;
  std::uint64_t slept_on_ = 0;  // What was hurried when it fell asleep last.
  Steady::time_point wakes_at_ = Steady::time_point::min();
  Steady::time_point flush_began_{};  // The last one.
  std::optional<Error> failed_;
  bool stopping_ = false;

  std::mutex publishing_;  // Heads are written one after the other.
  unsigned place_ = 0;
  std::uint64_t published_ = 0;
  std::thread thread_;  // Last: it uses all of the above.
};

// The directory of the journal of a daemon's data directory.
[[nodiscard]] std::string journal_directory(const std::string& data_directory);

}  // namespace glovebox::audit
