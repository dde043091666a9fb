// SPDX-License-Identifier: Apache-2.0
#include "audit/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "audit/recovery.h"
#include "audit/segments.h"
#include "base/time_text.h"

namespace glovebox::audit {
namespace {

// Kept for acts that free something, and for the journal's own records.
constexpr std::size_t kReserve = 256UL << 10;
// Allocated at once where there is room.
constexpr std::size_t kChunk = 1UL << 20;
constexpr std::size_t kPage = 4096;
// How long a flush is put off for others to join, who otherwise would need one each; and how many
// flushes are not put off after one that nobody joined.
constexpr std::chrono::microseconds kGather{1000};
constexpr unsigned kHasty = 16;
// No act counts as longer, for how often there are flushes that nobody waits for yet.
constexpr std::chrono::nanoseconds kLongAct = std::chrono::milliseconds(10);
// An act's share in what is usual.
constexpr int kShare = 16;
// What is to be on the disk soon is there after this time.
constexpr std::chrono::milliseconds kSoon{10};

std::uint64_t uptime_ms() {
  timespec now{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
}

Result<void> write_zeros(int file, std::uint64_t at, std::uint64_t bytes) {
  constexpr std::size_t kBlock = 64UL << 10;
  static constexpr std::array<char, kBlock> kZeros{};
  for (const std::uint64_t end = at + bytes; at < end;) {
    const ssize_t wrote = ::pwrite(file, kZeros.data(), std::min<std::uint64_t>(kBlock, end - at),
                                   static_cast<off_t>(at));
    if (wrote <= 0 && errno != EINTR) {
      return Error::from_errno("allocate room for the audit journal");
    }
    at += static_cast<std::uint64_t>(std::max<ssize_t>(wrote, 0));
  }
  return {};
}

Error full(const std::string& path) {
  return {ErrorCode::kUnavailable,
          "the audit journal has no room for a record, so what it would record is not done",
          "free space on the disk of " + path};
}

Result<UniqueFd> open_journal_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("create " + path);
  }
  UniqueFd directory = GB_TRY(open_directory(path));
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      (status.st_mode & 077U) != 0) {
    return Error(ErrorCode::kRefused, "other users can access the audit journal in " + path,
                 "run 'chmod 700 " + path + "' as its owner");
  }
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::kConflict, "another program writes the audit journal in " + path);
  }
  return directory;
}

}  // namespace

std::string_view to_string(Durability durability) {
  switch (durability) {
    case Durability::kRelaxed:
      return "relaxed";
    case Durability::kRequests:
      return "requests";
    case Durability::kAll:
      break;
  }
  return "durable";
}

std::string journal_directory(const std::string& data_directory) {
  return data_directory + "/audit";
}

Room::Room(Room&& other) noexcept
    : journal_(std::exchange(other.journal_, nullptr)),
      bytes_(other.bytes_),
      since_(other.since_) {}

Room& Room::operator=(Room&& other) noexcept {
  std::swap(journal_, other.journal_);
  std::swap(bytes_, other.bytes_);
  std::swap(since_, other.since_);
  return *this;
}

Room::~Room() {
  if (journal_ != nullptr) {
    journal_->end_act(bytes_, since_);
  }
}

Journal::Journal(
    std::string path, Options options, UniqueFd directory, UniqueFd head, SigningKey key)
    : path_(std::move(path)),
      options_(std::move(options)),
      directory_(std::move(directory)),
      head_file_(std::move(head)),
      key_(std::move(key)) {}

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, Options options) {
  UniqueFd directory = GB_TRY(open_journal_directory(path));
  const bool fresh = GB_TRY(list_segments(directory.get())).empty();
  auto key = SigningKey::open(directory.get(), fresh);
  if (!key) {
    return key.error().code() == ErrorCode::kNotFound
               ? Error(ErrorCode::kUnavailable, "the audit journal's private key is missing",
                       "restore " + path + "/" + kPrivateKeyFile +
                           ", or move the directory away to start a new journal")
               : std::move(key).error();
  }
  if (fresh) {
    GB_TRY(make_head_file(directory.get()));
  }
  const auto head = read_head(directory.get(), key->public_key());
  if (!head) {
    return Error(ErrorCode::kUnavailable, head.error().message(),
                 "run 'glovebox audit verify'; to start a new journal, move " + path +
                     " away and keep it as evidence");
  }
  UniqueFd head_file = GB_TRY(open_regular(directory.get(), kHeadFile, O_RDWR));
  std::unique_ptr<Journal> made(new Journal(path, std::move(options), std::move(directory),
                                            std::move(head_file), *std::move(key)));
  if (*head) {
    made->place_ = (*head)->place;
    made->published_ = (*head)->number;
  }
  GB_TRY(made->recover());
  Journal* const self = made.get();
  made->thread_ = std::thread([self] { self->loop(); });
  return made;
}

Result<void> Journal::recover() {
  const auto head = GB_TRY(read_head(directory_.get(), key_.public_key()));
  const Recovered found = GB_TRY(recover_journal(directory_.get(), head));
  if (!options_.witness.empty()) {
    witness_ =
        UniqueFd(::open(options_.witness.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!witness_) {
      return Error::from_errno("open " + options_.witness);
    }
  }
  number_ = found.number;
  hash_ = found.hash;
  time_ = found.time;
  segment_ = found.segment;
  size_ = found.size;
  std::unique_lock lock(mutex_);
  if (segment_ == 0) {
    GB_TRY(begin_segment());
  } else {
    file_ = std::make_shared<UniqueFd>(
        GB_TRY(open_regular(directory_.get(), segment_name(segment_), O_RDWR)));
    allocated_ = size_;
    rotate_at_ = options_.segment_size;
    if (found.has_more &&
        (::ftruncate(file_->get(), static_cast<off_t>(size_)) != 0 || ::fsync(file_->get()) != 0)) {
      return Error::from_errno("cut the end of the audit journal");
    }
  }
  GB_TRY(write(fields_of({.action = "audit.open",
                          .details = R"({"mode":")" + std::string(to_string(options_.durability)) +
                                     R"(","cut_bytes":)" + std::to_string(found.cut) +
                                     R"(,"unsigned_records":)" +
                                     std::to_string(found.unsigned_records) + "}"})));
  GB_TRY(remove_old());
  return flush(lock, true);
}

Journal::~Journal() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (file_) {
    // What was allocated ahead is given back.
    (void)!::ftruncate(file_->get(), static_cast<off_t>(size_));
  }
}

void Journal::fail(const Error& error) {
  if (!failed_) {
    // Whether what was written is on the disk is not known any more, and asking again does not
    // tell: the pages count as clean.
    failed_ =
        Error(ErrorCode::kUnavailable, "the audit journal cannot be written: " + error.message(),
              "look after the disk of " + path_ + ", then restart the daemon");
  }
  unused_ = 0;  // Who wants room is told.
  wake_all();
}

void Journal::publish_room() {
  unused_ = failed_ ? 0 : allocates_ ? allocated_ - size_ : UINT64_MAX;
}

Result<void> Journal::allocate(std::size_t beyond) {
  const std::uint64_t wanted = size_ + reserved_ + beyond;
  if (wanted <= allocated_ || !allocates_) {
    publish_room();
    return {};
  }
  const std::uint64_t least = (wanted - allocated_ + kPage - 1) / kPage * kPage;
  for (const std::uint64_t bytes : {std::max<std::uint64_t>(least, kChunk), least}) {
    if (::fallocate(file_->get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(allocated_),
                    static_cast<off_t>(bytes)) == 0) {
      GB_TRY(write_zeros(file_->get(), allocated_, bytes));
      allocated_ += bytes;
      publish_room();
      return {};
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      allocates_ = false;
      publish_room();
      return {};
    }
    if (errno != ENOSPC && errno != EDQUOT) {
      return Error::from_errno("allocate room for the audit journal");
    }
  }
  return full(path_);
}

Result<Room> Journal::reserve(std::size_t bytes, bool from_reserve) {
  const std::size_t beyond = from_reserve ? kPage : kReserve;
  const std::uint64_t reserved = reserved_ += bytes;
  ++acts_;
  Room room(*this, bytes);  // Which gives back what it could not have.
  // A segment that is begun meanwhile counts this too, or has made `unused_` 0 before.
  if (reserved + beyond <= unused_) {
    return room;
  }
  const std::scoped_lock lock(mutex_);
  if (failed_) {
    return *failed_;
  }
  GB_TRY(allocate(beyond));
  return room;
}

void Journal::end_act(std::size_t bytes, Steady::time_point since) {
  reserved_ -= bytes;
  --acts_;
  const std::chrono::nanoseconds took = Steady::now() - since;
  // About is enough: of two that end at once, one may not count.
  const std::chrono::nanoseconds usual = usual_act_.load(std::memory_order_relaxed);
  usual_act_.store(usual + (std::min(took, kLongAct) - usual) / kShare, std::memory_order_relaxed);
}

Result<void> Journal::begin_segment() {
  const std::uint64_t first = number_ + 1;
  const std::string name = segment_name(first);
  auto file = std::make_shared<UniqueFd>(
      GB_TRY(open_regular(directory_.get(), name, O_RDWR | O_CREAT | O_EXCL)));
  const auto before = std::exchange(file_, std::move(file));
  unused_ = 0;
  const std::uint64_t size = std::exchange(size_, 0);
  const std::uint64_t allocated = std::exchange(allocated_, 0);
  auto room = allocate(kReserve);
  if (room && ::fsync(directory_.get()) != 0) {
    room = Error::from_errno("flush the directory of the audit journal");
  }
  if (!room) {
    (void)::unlinkat(directory_.get(), name.c_str(), 0);
    file_ = before;
    size_ = size;
    allocated_ = allocated;
    publish_room();
    return room;
  }
  if (before) {
    (void)!::ftruncate(before->get(), static_cast<off_t>(size));
  }
  segment_ = first;
  rotate_at_ = options_.segment_size;
  return {};
}

Result<void> Journal::rotate() {
  // Whole segments end with a checkpoint, so that each can be removed by itself.
  GB_TRY(write_checkpoint());
  if (::fdatasync(file_->get()) != 0) {
    const Error error = Error::from_errno("flush the audit journal");
    fail(error);
    return error;
  }
  durable_ = number_;
  wake_all();
  if (const auto begun = begin_segment(); !begun) {
    rotate_at_ = size_ + options_.segment_size;  // There is no room: this one goes on.
    return {};
  }
  return remove_old();
}

Result<void> Journal::remove_old() {
  if (!options_.keep) {
    return {};
  }
  const std::vector<std::uint64_t> segments = GB_TRY(list_segments(directory_.get()));
  const auto now = std::chrono::system_clock::to_time_t(options_.clock());
  for (std::size_t i = 0; i + 1 < segments.size() && segments[i] != segment_; ++i) {
    const std::string name = segment_name(segments[i]);
    struct stat status {};
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        now - status.st_mtime < options_.keep->count()) {
      break;
    }
    // What follows is held by this record: without it, whoever removes a segment is found out.
    LineReader next(
        GB_TRY(open_regular(directory_.get(), segment_name(segments[i + 1]), O_RDONLY)));
    const auto line = GB_TRY(next.next());
    const auto link = line ? parse_link(line->text) : Result<Link>(full(path_));
    if (!link) {
      break;
    }
    GB_TRY(write_body(fields_of({.action = std::string(kRetention),
                                 .decision = "",
                                 .result = "",
                                 .details = R"({"through":)" + std::to_string(link->number - 1) +
                                            R"(,"hash":")" + std::string(link->previous) + "\"}"}),
                      false));
    if (::fdatasync(file_->get()) != 0 || ::unlinkat(directory_.get(), name.c_str(), 0) != 0) {
      return Error::from_errno("remove " + name);
    }
  }
  return {};
}

Result<void> Journal::write_line(std::string_view line) {
  if (size_ + line.size() > allocated_) {
    GB_TRY(allocate(line.size()));
  }
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::pwrite(file_->get(), line.data() + done, line.size() - done,
                                   static_cast<off_t>(size_ + done));
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote <= 0) {
      const Error error = Error::from_errno("write the audit journal");
      // Also gives back what was allocated, for what is reserved and cannot be had again.
      if (::ftruncate(file_->get(), static_cast<off_t>(size_)) != 0) {
        fail(error);
      }
      allocated_ = size_;
      publish_room();
      return error.os_error() == ENOSPC || error.os_error() == EDQUOT ? full(path_) : error;
    }
    done += static_cast<std::size_t>(wrote);
  }
  size_ += line.size();
  allocated_ = std::max(allocated_, size_);
  publish_room();
  return {};
}

Result<void> Journal::write_body(std::string_view fields, bool with_signature) {
  const std::string time = to_rfc3339(options_.clock());
  if (time < time_) {
    // Set back. What comes afterwards stands behind this all the same.
    const std::string from = std::exchange(time_, {});
    auto told =
        write_body(fields_of({.action = "audit.clock",
                              .decision = "",
                              .result = "",
                              .details = R"({"from":")" + from + R"(","to":")" + time + "\"}"}),
                   false);
    if (!told) {
      time_ = from;
      return told;
    }
  }
  std::string line = body_of(fields, number_ + 1, hash_, time, uptime_ms());
  std::string signature;
  if (with_signature) {
    signature = GB_TRY(key_.sign(kCheckpointPurpose, line));
  }
  std::string hash = end_line(line, signature);
  if (line.size() > kMostLine) {
    return Error(ErrorCode::kInternal, "a record is too large for the audit journal");
  }
  GB_TRY(write_line(line));
  hash_ = std::move(hash);
  time_ = time;
  ++number_;
  if (with_signature) {
    signed_ = number_;
  } else if (number_ == signed_ + 1) {
    first_unsigned_ = Steady::now();
    if (wakes_before(checkpoint_due())) {
      changed_.notify_one();
    }
  }
  return {};
}

Result<void> Journal::write_checkpoint() {
  return write_body(fields_of({.action = std::string(kCheckpoint),
                               .decision = "",
                               .result = "",
                               .details = R"({"signer":")" + key_.public_key().id() + "\"}"}),
                    true);
}

Result<void> Journal::write(std::string_view fields) {
  if (failed_) {
    return *failed_;
  }
  if (size_ >= rotate_at_) {
    GB_TRY(rotate());
  }
  GB_TRY(write_body(fields, false));
  if (number_ - signed_ >= options_.checkpoint_records) {
    if (wakes_before(checkpoint_due())) {
      changed_.notify_one();
    }
  }
  return {};
}

Result<std::uint64_t> Journal::append(const Entry& entry, Haste haste) {
  const std::string fields = fields_of(entry);
  std::unique_lock lock(mutex_);
  GB_TRY(write(fields));
  const std::uint64_t number = number_;
  const bool wakes =
      haste == Haste::kSoon && options_.durability != Durability::kRelaxed && hurry();
  lock.unlock();
  if (wakes) {
    changed_.notify_one();
  }
  return number;
}

// Whether the thread must be woken up for it.
bool Journal::hurry() {
  hurried_ = number_;
  flush_due_ = std::min(flush_due_, Steady::now() + kSoon);
  return !leading_ && wakes_before(flush_due_);  // Who leads wakes it up at the end.
}

// Whether somebody must wake up the thread so that it does not sleep beyond `by`; then that is the
// caller's to do.
bool Journal::wakes_before(Steady::time_point by) {
  if (by >= wakes_at_) {
    return false;
  }
  wakes_at_ = Steady::time_point::min();
  return true;
}

void Journal::flush_meanwhile(std::uint64_t number) {
  if (options_.durability == Durability::kRelaxed || durable_ >= number) {
    return;
  }
  std::unique_lock lock(mutex_);
  // Twice in the time that an act takes: each finds its record on the disk when it waits for that,
  // and the more there are at a time, the more share a flush.
  const bool shares = acts_ > 1 && Steady::now() < flush_began_ + usual_act_.load() / 2;
  if (!leading_ && !failed_ && !shares && durable_ < number) {
    flush_group(lock);
  }
}

Result<void> Journal::wait(std::uint64_t number) {
  if (options_.durability == Durability::kRelaxed || durable_ >= number) {
    return {};
  }
  std::unique_lock lock(mutex_);
  if (number > std::max(target_, durable_.load()) && ++joined_ * 2 >= acts_) {
    gathered_.notify_one();
  }
  while (durable_ < number && !failed_) {
    if (!leading_) {
      lead(lock);
    } else {
      flushed_[(number > target_ ? group_ : group_ + 1) % 2].wait(lock);
    }
  }
  return durable_ >= number ? Result<void>() : *failed_;
}

void Journal::lead(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  gather(lock);
  flush_group(lock);
}

void Journal::flush_group(std::unique_lock<std::mutex>& lock) {
  leading_ = true;
  const unsigned mine = group_++ % 2;
  target_ = number_;
  joined_ = 0;
  (void)flush(lock, false);
  leading_ = false;
  const bool wakes = wakes_before(flush_due_);
  // Who is woken up finds the lock free.
  lock.unlock();
  flushed_[mine].notify_all();
  // One of those that came meanwhile leads them.
  flushed_[1 - mine].notify_one();
  if (wakes) {
    changed_.notify_one();
  }
  lock.lock();
}

void Journal::gather(std::unique_lock<std::mutex>& lock) {
  // Half of those that are at work: the others have the processors while this half waits.
  const auto enough = [this] { return joined_ * 2 >= acts_ || failed_ || stopping_; };
  if (hasty_ > 0) {
    --hasty_;
  } else if (!enough()) {
    const std::size_t before = joined_;
    (void)gathered_.wait_for(lock, kGather, enough);
    hasty_ = joined_ > before ? 0 : kHasty;
  }
}

void Journal::wake_all() {
  gathered_.notify_all();
  for (std::condition_variable& each : flushed_) {
    each.notify_all();
  }
}

Result<void> Journal::record(const Entry& entry) { return wait(GB_TRY(append(entry))); }

Result<void> Journal::checkpoint() {
  std::unique_lock lock(mutex_);
  if (failed_) {
    return *failed_;
  }
  auto flushed = flush(lock, true);
  wake_all();
  return flushed;
}

Journal::Steady::time_point Journal::checkpoint_due() const {
  if (number_ == signed_) {
    return kNever;
  }
  const bool many = number_ - signed_ >= options_.checkpoint_records;
  return std::max(not_before_, many ? first_unsigned_ : first_unsigned_ + options_.checkpoint_time);
}

void Journal::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = Steady::now();
    const auto flush_due = leading_ ? kNever : flush_due_;
    if (!failed_ && now >= checkpoint_due()) {
      if (flush(lock, true)) {
        wake_all();
      }
    } else if (!failed_ && now >= flush_due) {
      flush_group(lock);
    } else {
      wakes_at_ = failed_ ? kNever : std::min(flush_due, checkpoint_due());
      if (hurried_ != std::exchange(slept_on_, hurried_)) {
        // More will come: who writes that finds that it wakes up early enough by itself.
        wakes_at_ = std::min(wakes_at_, now + kSoon);
      }
      if (wakes_at_ == kNever) {
        changed_.wait(lock);
      } else {
        (void)changed_.wait_until(lock, wakes_at_);
      }
      wakes_at_ = Steady::time_point::min();
    }
  }
  if (!failed_ && number_ > signed_) {
    (void)flush(lock, true);
  }
}

Result<void> Journal::flush(std::unique_lock<std::mutex>& lock, bool renew_head) {
  if (renew_head && number_ > signed_) {
    if (auto written = write_checkpoint(); !written) {
      // No room for it, say: it is tried again a while later, and records go on.
      first_unsigned_ = Steady::now();
      not_before_ = first_unsigned_ + options_.checkpoint_time;
      renew_head = false;
    }
  }
  const std::uint64_t target = number_;
  if (target >= hurried_) {
    flush_due_ = kNever;
  }
  flush_began_ = Steady::now();
  const auto file = file_;
  const Head head{.number = number_,
                  .hash = hash_,
                  .segment = segment_,
                  .size = size_,
                  .time = time_};
  lock.unlock();
  auto flushed =
      ::fdatasync(file->get()) == 0 ? Result<void>() : Error::from_errno("flush the audit journal");
  lock.lock();
  if (flushed) {
    durable_ = std::max(durable_.load(), target);
    if (renew_head) {
      lock.unlock();
      flushed = publish(head);
      lock.lock();
    }
  }
  if (!flushed) {
    fail(flushed.error());
  }
  return flushed;
}

Result<void> Journal::publish(const Head& head) {
  const std::scoped_lock lock(publishing_);
  if (head.number <= published_) {
    return {};
  }
  const std::string line = GB_TRY(head_line(head, key_));
  GB_TRY(write_head(head_file_.get(), place_ + 1, line));
  ++place_;
  published_ = head.number;
  if (witness_) {
    const std::string told = std::to_string(head.number) + " " + head.hash + "\n";
    if (::write(witness_.get(), told.data(), told.size()) != static_cast<ssize_t>(told.size())) {
      return Error::from_errno("write " + options_.witness);
    }
  }
  return {};
}

}  // namespace glovebox::audit
