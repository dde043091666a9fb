// SPDX-License-Identifier: Apache-2.0
#include "audit/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "audit/recovery.h"
#include "audit/segments.h"
#include "base/time_text.h"

namespace glovebox::audit {
namespace {

std::uint64_t uptime_ms() {
  timespec now{};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000'000;
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
    // Give back what was allocated ahead.
    (void)!::ftruncate(file_->get(), static_cast<off_t>(size_));
  }
}

void Journal::fail(const Error& error) {
  if (!failed_) {
    // We no longer know whether what was written is on the disk, and flushing again does not tell:
    // the pages count as clean.
    failed_ =
        Error(ErrorCode::kUnavailable, "the audit journal cannot be written: " + error.message(),
              "look after the disk of " + path_ + ", then restart the daemon");
  }
  unused_ = 0;  // So that reserve() takes the lock, and fails.
  wake_all();
}

Result<void> Journal::write_body(std::string_view fields, bool with_signature) {
  const std::string time = to_rfc3339(options_.clock());
  if (time < time_) {
    // The clock was set back. Later records still follow this one.
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

Result<void> Journal::record(const Entry& entry) { return wait(GB_TRY(append(entry))); }

}  // namespace glovebox::audit
