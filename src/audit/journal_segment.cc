// SPDX-License-Identifier: Apache-2.0
// The segment being written: the room promised in it, its lines, and the next segment.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "audit/journal.h"
#include "audit/segments.h"

namespace glovebox::audit {
namespace {

// Kept for acts that free something, and for the journal's own records.
constexpr std::size_t kReserve = 256UL << 10;
// Allocated at once, if there is room.
constexpr std::size_t kChunk = 1UL << 20;
constexpr std::size_t kPage = 4096;

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
}  // namespace

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
  Room room(*this, bytes);  // Gives the bytes back if they cannot be had.
  // A segment begun meanwhile counts these bytes, too, or has set `unused_` to 0 before.
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
    rotate_at_ = size_ + options_.segment_size;  // There is no room: continue this one.
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
    // This record vouches for the segments that remain: a removal without it is found out.
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
      // Also gives back all that was allocated: reserved room must be allocated again.
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

}  // namespace glovebox::audit
