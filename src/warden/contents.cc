// SPDX-License-Identifier: Apache-2.0
#include "warden/contents.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace glovebox::warden {
namespace {

constexpr std::uint64_t kPage = 4096;
// Between two looks at the clock.
constexpr std::uint64_t kPiece = 64ULL << 20;
// A file with more is copied as if it had no holes from there on.
constexpr std::size_t kMaxExtents = 256;
// Two ticks of the slowest kernel clock.
constexpr std::int64_t kCoarseNs = 20'000'000;

constexpr std::size_t kBlock = 64 * 1024;
std::array<char, kBlock> block;
std::array<char, kBlock> other_block;

std::uint64_t page_end(std::uint64_t at) { return (at + kPage - 1) & ~(kPage - 1); }

off_t offset(std::uint64_t at) { return static_cast<off_t>(at); }

// Puts a value where there is none, or at the end.
template <typename T>
std::uint32_t place(std::vector<T>& values, std::vector<std::uint32_t>& unused, T value) {
  if (unused.empty()) {
    values.push_back(std::move(value));
    return static_cast<std::uint32_t>(values.size() - 1);
  }
  const std::uint32_t index = unused.back();
  unused.pop_back();
  values[index] = std::move(value);
  return index;
}

Error too_slow() { return {ErrorCode::kUnavailable, "the files are too large to copy in time"}; }

Result<void> copy_by_hand(
    int from, std::uint64_t from_at, int to, std::uint64_t to_at, std::uint64_t size) {
  while (size > 0) {
    const ssize_t got =
        ::pread(from, block.data(), std::min<std::uint64_t>(size, kBlock), offset(from_at));
    if (got < 0) {
      return Error::from_errno("read");
    }
    if (got == 0) {
      return {};
    }
    std::size_t put = 0;
    while (put < static_cast<std::size_t>(got)) {
      const ssize_t part = ::pwrite(to, block.data() + put, static_cast<std::size_t>(got) - put,
                                    offset(to_at + put));
      if (part < 0) {
        return Error::from_errno("write");
      }
      put += static_cast<std::size_t>(part);
    }
    from_at += put;
    to_at += put;
    size -= put;
  }
  return {};
}

// Up to the end of `from`, should that come first.
Result<void> copy(int from,
                  std::uint64_t from_at,
                  int to,
                  std::uint64_t to_at,
                  std::uint64_t size,
                  const Deadline& deadline) {
  while (size > 0) {
    if (deadline.passed()) {
      return too_slow();
    }
    const std::uint64_t piece = std::min(size, kPiece);
    off_t source = offset(from_at);
    off_t target = offset(to_at);
    const ssize_t copied = ::copy_file_range(from, &source, to, &target, piece, 0);
    if (copied == 0) {
      return {};
    }
    auto done = static_cast<std::uint64_t>(copied);
    if (copied < 0) {
      if (errno == ENOSPC || errno == EFBIG || errno == EIO || errno == EDQUOT) {
        return Error::from_errno("copy");
      }
      // Not every file system and kernel has the call.
      GB_TRY(copy_by_hand(from, from_at, to, to_at, piece));
      done = piece;
    }
    from_at += done;
    to_at += done;
    size -= done;
  }
  return {};
}

}  // namespace

bool open_for_writing(int file) {
  // The kernel gives nobody a read lease while there is a writer. If one comes before the lease is
  // given back, the kernel tells us by a signal that we ignore.
  (void)::fcntl(file, F_SETSIG, static_cast<long>(SIGURG));
  if (::fcntl(file, F_SETLEASE, static_cast<long>(F_RDLCK)) != 0) {
    // A kernel without leases (gVisor) cannot tell, so we must assume a writer.
    return errno == EAGAIN || errno == EINVAL;
  }
  (void)::fcntl(file, F_SETLEASE, static_cast<long>(F_UNLCK));
  return false;
}

Contents::Identity Contents::identity_of(const struct stat& status) {
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size), nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

Result<void> Contents::prepare(int directory) {
  if (store_) {
    return {};
  }
  UniqueFd store(::openat(directory, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (!store && errno == EOPNOTSUPP) {
    // It has a name for a moment. Where that is needed, guests cannot see the directory.
    constexpr const char* kName = "store";
    store = UniqueFd(::openat(directory, kName, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
    if (store) {
      (void)::unlinkat(directory, kName, 0);
    }
  }
  if (!store) {
    return Error::from_errno("allocate space for snapshots");
  }
  fine_times_ = true;
  for (int i = 0; i < 4; ++i) {
    struct stat before {};
    struct stat after {};
    (void)::fstat(store.get(), &before);
    if (::pwrite(store.get(), "", 1, 0) != 1) {
      return Error::from_errno("allocate space for snapshots");
    }
    (void)::fstat(store.get(), &after);
    fine_times_ = fine_times_ && nanoseconds(before.st_ctim) != nanoseconds(after.st_ctim);
  }
  (void)::ftruncate(store.get(), 0);
  store_ = std::move(store);
  return {};
}

Result<Contents::Id> Contents::keep(int file, const struct stat& status, const Deadline& deadline) {
  const bool shared = open_for_writing(file);
  const Identity now = identity_of(status);
  const auto found = of_inode_.find(status.st_ino);
  if (found != of_inode_.end()) {
    Version& known = versions_[found->second];
    const bool settled = !shared && old_enough(now);
    if (known.identity == now && is_in(found->second, file, status, shared)) {
      ++known.references;
      return found->second;
    }
    if (holds(known, file, now)) {
      // A version of its own, for what only the other one's identity is known to somebody.
      ++bytes_[known.bytes].references;
      return add_version(
          {.identity = now, .bytes = known.bytes, .references = 1, .settled = settled});
    }
  }
  Bytes bytes{.size = now.size, .references = 1};
  const bool dense = static_cast<std::uint64_t>(status.st_blocks) * 512 >= bytes.size;
  if (auto copied = copy_in(bytes, file, dense, deadline); !copied) {
    free_extents(bytes);
    return std::move(copied).error();
  }
  struct stat after {};
  const bool settled =
      ::fstat(file, &after) == 0 && identity_of(after) == now && !shared && old_enough(now);
  const std::uint32_t index = place(bytes_, unused_bytes_, std::move(bytes));
  return add_version({.identity = now, .bytes = index, .references = 1, .settled = settled});
}

Contents::Id Contents::add_version(const Version& version) {
  const Id id = place(versions_, unused_versions_, Version(version));
  of_inode_[version.identity.inode] = id;
  return id;
}

Result<void> Contents::copy_in(Bytes& bytes, int file, bool dense, const Deadline& deadline) {
  const std::uint64_t size = bytes.size;
  for (std::uint64_t at = 0; at < size;) {
    std::uint64_t end = size;
    if (!dense && bytes.extents.size() < kMaxExtents) {
      const off_t data = ::lseek(file, offset(at), SEEK_DATA);
      if (data < 0 && errno == ENXIO) {
        return {};  // A hole up to the end.
      }
      const off_t hole = data < 0 ? -1 : ::lseek(file, data, SEEK_HOLE);
      if (hole > data) {
        at = static_cast<std::uint64_t>(data);
        end = std::min(size, static_cast<std::uint64_t>(hole));
      }
      if (at >= end) {
        return {};  // The data begins past `size`: the file has grown.
      }
    }
    GB_TRY(copy_extent(bytes, file, {at, end - at, page_end(end_)}, deadline));
    at = end;
  }
  return {};
}

Result<void> Contents::copy_extent(Bytes& bytes,
                                   int file,
                                   Extent extent,
                                   const Deadline& deadline) {
  // Entered first: what was copied before an error has to be freed as well.
  bytes.extents.push_back(extent);
  end_ = extent.at + extent.size;
  return copy(file, extent.offset, store_.get(), extent.at, extent.size, deadline);
}

void Contents::free_extents(const Bytes& bytes) {
  // The last ones first: where holes cannot be punched (gVisor), what is at the end is cut off.
  for (auto extent = bytes.extents.rbegin(); extent != bytes.extents.rend(); ++extent) {
    const bool punched = ::fallocate(store_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                     offset(extent->at), offset(page_end(extent->size))) == 0;
    if (!punched && extent->at + extent->size == end_) {
      (void)::ftruncate(store_.get(), offset(extent->at));
      end_ = extent->at;
    }
  }
}

void Contents::release(Id id) {
  Version& version = versions_[id];
  if (--version.references > 0) {
    return;
  }
  forget_inode(id);
  Bytes& bytes = bytes_[version.bytes];
  if (--bytes.references == 0) {
    free_extents(bytes);
    bytes = {};
    unused_bytes_.push_back(version.bytes);
    if (unused_bytes_.size() == bytes_.size()) {
      (void)::ftruncate(store_.get(), 0);
      end_ = 0;
    }
  }
  version = {};
  unused_versions_.push_back(id);
}

void Contents::forget_inode(Id id) {
  const auto found = of_inode_.find(versions_[id].identity.inode);
  if (found != of_inode_.end() && found->second == id) {
    of_inode_.erase(found);
  }
}

bool Contents::holds(const Version& version, int file, const Identity& now) const {
  // A new change time alone comes with a new mode or name, and hardly ever with new bytes.
  const Bytes& bytes = bytes_[version.bytes];
  return version.identity.inode == now.inode && bytes.size == now.size &&
         version.identity.modified_ns == now.modified_ns && equals(bytes, file);
}

bool Contents::is_in(Id id, int file, const struct stat& status, bool shared) {
  Version& version = versions_[id];
  const Identity now = identity_of(status);
  if (trusts_times_ && version.settled && version.identity == now && !shared) {
    return true;
  }
  // Before the bytes are read: a write that comes between would be taken for an old one.
  const bool settled = !shared && old_enough(now);
  if (!holds(version, file, now)) {
    return false;
  }
  version.identity = now;
  version.settled = settled;
  return true;
}

bool Contents::seems_in(Id id, const struct stat& status) const {
  return trusts_times_ && versions_[id].settled && versions_[id].identity == identity_of(status);
}

bool Contents::equals(const Bytes& bytes, int file) const {
  auto extent = bytes.extents.begin();
  for (std::uint64_t at = 0; at < bytes.size;) {
    while (extent != bytes.extents.end() && at >= extent->offset + extent->size) {
      ++extent;
    }
    const bool in_hole = extent == bytes.extents.end() || at < extent->offset;
    const std::uint64_t end = extent == bytes.extents.end() ? bytes.size
                              : in_hole                     ? extent->offset
                                                            : extent->offset + extent->size;
    const std::size_t size = std::min<std::uint64_t>(kBlock, end - at);
    const auto whole = static_cast<ssize_t>(size);
    if (::pread(file, block.data(), size, offset(at)) != whole) {
      return false;
    }
    if (in_hole) {
      std::memset(other_block.data(), 0, size);
    } else if (::pread(store_.get(), other_block.data(), size,
                       offset(extent->at + (at - extent->offset))) != whole) {
      return false;
    }
    if (std::memcmp(block.data(), other_block.data(), size) != 0) {
      return false;
    }
    at += size;
  }
  return true;
}

std::optional<std::string> Contents::read(Id id, std::size_t max) const {
  const Bytes& bytes = bytes_[versions_[id].bytes];
  if (bytes.size > max) {
    return std::nullopt;
  }
  std::string content(bytes.size, '\0');
  for (const Extent& extent : bytes.extents) {
    const auto whole = static_cast<ssize_t>(extent.size);
    if (extent.offset + extent.size > content.size() ||
        ::pread(store_.get(), content.data() + extent.offset, extent.size, offset(extent.at)) !=
            whole) {
      return std::nullopt;
    }
  }
  return content;
}

Result<void> Contents::write_to(Id id, int file, const Deadline& deadline) const {
  const Bytes& bytes = bytes_[versions_[id].bytes];
  const bool dense = bytes.extents.size() == 1 && bytes.extents[0].size == bytes.size;
  // What has holes is written into nothing but holes. Anything else keeps its pages, which is
  // faster and cannot run out of space.
  if ((!dense && ::ftruncate(file, 0) != 0) || ::ftruncate(file, offset(bytes.size)) != 0) {
    return Error::from_errno("change the size");
  }
  for (const Extent& extent : bytes.extents) {
    GB_TRY(copy(store_.get(), extent.at, file, extent.offset, extent.size, deadline));
  }
  return {};
}

void Contents::settle(Id id, const struct stat& status, bool shared) {
  Version& version = versions_[id];
  forget_inode(id);
  const bool as_written = bytes_[version.bytes].size == static_cast<std::uint64_t>(status.st_size);
  version.identity = identity_of(status);
  version.settled = as_written && !shared && old_enough(version.identity);
  of_inode_[status.st_ino] = id;
}

bool Contents::old_enough(const Identity& identity) const {
  if (fine_times_) {
    return true;
  }
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now) - identity.changed_ns > kCoarseNs;
}

std::uint64_t Contents::stored(Id id) const {
  std::uint64_t bytes = 0;
  for (const Extent& extent : bytes_[versions_[id].bytes].extents) {
    bytes += page_end(extent.size);
  }
  return bytes;
}

}  // namespace glovebox::warden
