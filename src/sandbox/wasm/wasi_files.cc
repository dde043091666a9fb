// SPDX-License-Identifier: Apache-2.0
// The functions of WASI that concern streams, files and directories.
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/sys/raw.h"
#include "sandbox/wasm/wasi.h"

namespace glovebox::wasm {
namespace {

using sys::raw;

constexpr std::uint64_t kSecond = 1'000'000'000;
// As many as the kernel takes at once. If a module passes more, only part is done.
constexpr std::uint32_t kMostPieces = 1024;
// Entries of a directory that are read at once.
constexpr std::size_t kEntriesSize = 8192;

wasi::Error last_error() { return wasi_error(errno); }

wasi::Error result_of(long result) { return result < 0 ? last_error() : wasi::Error::kSuccess; }

wasi::FileType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFBLK:
      return wasi::FileType::kBlock;
    case S_IFCHR:
      return wasi::FileType::kCharacter;
    case S_IFDIR:
      return wasi::FileType::kDirectory;
    case S_IFREG:
      return wasi::FileType::kRegular;
    case S_IFSOCK:
      return wasi::FileType::kSocket;
    case S_IFLNK:
      return wasi::FileType::kLink;
    default:
      return wasi::FileType::kUnknown;
  }
}

std::uint64_t nanoseconds_of(const timespec& time) {
  return (static_cast<std::uint64_t>(time.tv_sec) * kSecond) +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The two times of a request to change them. The world decides what "now" is.
std::optional<std::array<timespec, 2>> times_of(World& world,
                                                std::uint64_t accessed,
                                                std::uint64_t modified,
                                                std::uint32_t which) {
  const auto time = [&](std::uint64_t given, std::uint32_t set, std::uint32_t now) {
    if ((which & now) != 0) {
      given = world.now(wasi::kRealtime);
    } else if ((which & set) == 0) {
      return timespec{0, UTIME_OMIT};
    }
    return timespec{static_cast<time_t>(given / kSecond), static_cast<long>(given % kSecond)};
  };
  constexpr std::uint32_t kBothOfAccess = wasi::kSetAccessed | wasi::kAccessedNow;
  constexpr std::uint32_t kBothOfChange = wasi::kSetModified | wasi::kModifiedNow;
  if ((which & kBothOfAccess) == kBothOfAccess || (which & kBothOfChange) == kBothOfChange) {
    return std::nullopt;
  }
  return std::array{time(accessed, wasi::kSetAccessed, wasi::kAccessedNow),
                    time(modified, wasi::kSetModified, wasi::kModifiedNow)};
}

int status_flags(std::uint32_t flags) {
  int result = 0;
  result |= (flags & wasi::kAppend) != 0 ? O_APPEND : 0;
  result |= (flags & wasi::kDataSync) != 0 ? O_DSYNC : 0;
  result |= (flags & wasi::kNonBlocking) != 0 ? O_NONBLOCK : 0;
  result |= (flags & (wasi::kSync | wasi::kReadSync)) != 0 ? O_SYNC : 0;
  return result;
}

}  // namespace

Result<void> Wasi::open_directories() {
  constexpr std::size_t kFirst = 3;
  open_.resize(std::max(open_.size(), kFirst + given_.directories.size()));
  for (std::size_t i = 0; i < given_.directories.size(); ++i) {
    const std::string& name = given_.directories[i];
    UniqueFd directory(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!directory) {
      return glovebox::Error::from_errno("open '" + name + "'");
    }
    const int host = directory.get();
    std::optional<Open>& place = open_[kFirst + i];
    if (place) {
      (void)place->owned.release();  // From another sandbox, and closed already.
    }
    place = Open{.host = host, .owned = std::move(directory), .preopened = name};
  }
  return {};
}

int Wasi::host(Fd fd) const { return fd < open_.size() && open_[fd] ? open_[fd]->host : -1; }

// Under the smallest free number, as POSIX requires. The kernel limits how many there are.
wasi::Error Wasi::keep(UniqueFd file, Place to) {
  auto place = std::ranges::find_if(open_, [](const auto& each) { return !each; });
  if (place == open_.end()) {
    place = open_.emplace(open_.end());
  }
  const auto number = static_cast<std::uint32_t>(place - open_.begin());
  if (!memory_.store<std::uint32_t>(to, number)) {
    return Error::kFault;
  }
  const int host = file.get();
  *place = Open{.host = host, .owned = std::move(file)};
  return Error::kSuccess;
}

wasi::Error Wasi::path_at(Place path, Size size, std::string& to) const {
  if (size >= PATH_MAX) {
    return Error::kNameTooLong;
  }
  const auto bytes = memory_.at(path, size);
  if (!bytes) {
    return Error::kFault;
  }
  if (std::ranges::find(*bytes, 0) != bytes->end()) {
    return Error::kIllegalBytes;
  }
  to.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return to.empty() ? Error::kNotFound : Error::kSuccess;
}

wasi::Error Wasi::open_beneath(
    Fd fd, Place path, Size size, std::uint64_t flags, UniqueFd& opened) const {
  std::string name;
  if (const Error error = path_at(path, size, name); error != Error::kSuccess) {
    return error;
  }
  const int directory = host(fd);
  if (directory < 0) {
    return Error::kBadDescriptor;
  }
  // New files are for their owner to write, and for others to read.
  const open_how how{.flags = flags | O_CLOEXEC,
                     .mode = (flags & O_CREAT) != 0 ? 0666U : 0U,
                     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  const long result = raw(SYS_openat2, directory, name.c_str(), &how, sizeof how);
  if (result < 0) {
    return wasi_error(static_cast<int>(-result));
  }
  opened = UniqueFd(static_cast<int>(result));
  return Error::kSuccess;
}

// For the calls that name a file in a directory and follow no link at its end.
wasi::Error Wasi::find_parent(Fd fd, Place path, Size size, Named& found) const {
  std::string whole;
  if (const Error error = path_at(path, size, whole); error != Error::kSuccess) {
    return error;
  }
  const int directory = host(fd);
  if (directory < 0) {
    return Error::kBadDescriptor;
  }
  const std::size_t last = whole.find_last_not_of('/');
  const std::size_t slash = last == std::string::npos ? last : whole.rfind('/', last);
  if (last == std::string::npos || slash == 0) {
    return Error::kPermission;  // It begins at the root.
  }
  found.name = whole.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::string parent = slash == std::string::npos ? "." : whole.substr(0, slash);
  // A slash at the end stays: then the kernel requires a directory.
  const std::string_view bare(found.name.data(), found.name.find_last_not_of('/') + 1);
  if (bare == "..") {
    return Error::kPermission;
  }
  const open_how how{.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                     .mode = 0,
                     .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  const long result = raw(SYS_openat2, directory, parent.c_str(), &how, sizeof how);
  if (result < 0) {
    return wasi_error(static_cast<int>(-result));
  }
  found.directory = UniqueFd(static_cast<int>(result));
  return Error::kSuccess;
}

template <typename Transfer>
wasi::Error Wasi::transfer(Fd fd, Place pieces, Size count, Place done, const Transfer& with) {
  const int file = host(fd);
  if (file < 0) {
    return Error::kBadDescriptor;
  }
  count = std::min(count, kMostPieces);
  const auto list = memory_.at(pieces, std::uint64_t{count} * wasi::kPieceSize);
  if (!list) {
    return Error::kFault;
  }
  std::vector<iovec> vectors(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto piece = list->subspan(i * wasi::kPieceSize, wasi::kPieceSize);
    const auto bytes =
        memory_.at(get<std::uint32_t>(piece, 0), get<std::uint32_t>(piece, sizeof(std::uint32_t)));
    if (!bytes) {
      return Error::kFault;
    }
    vectors[i] = {bytes->data(), bytes->size()};
  }
  const ssize_t result = with(file, vectors.data(), static_cast<int>(count));
  if (result < 0) {
    return last_error();
  }
  return memory_.store<std::uint32_t>(done, static_cast<std::uint32_t>(result)) ? Error::kSuccess
                                                                                : Error::kFault;
}

wasi::Error Wasi::fd_read(Fd fd, Place pieces, Size count, Place done) {
  if (fd == STDIN_FILENO && before_first_read_) {
    std::exchange(before_first_read_, {})();
  }
  if (fd == STDIN_FILENO && !first_input_.empty()) {
    return transfer(fd, pieces, count, done, [&](int, const iovec* vectors, int size) {
      std::size_t all = 0;
      for (const iovec& each : std::span(vectors, static_cast<std::size_t>(size))) {
        const std::size_t part = first_input_.copy(static_cast<char*>(each.iov_base), each.iov_len);
        first_input_.erase(0, part);
        all += part;
      }
      return static_cast<ssize_t>(all);
    });
  }
  return transfer(fd, pieces, count, done, ::readv);
}

wasi::Error Wasi::fd_write(Fd fd, Place pieces, Size count, Place done) {
  return transfer(fd, pieces, count, done, ::writev);
}

wasi::Error Wasi::fd_pread(Fd fd, Place pieces, Size count, std::uint64_t offset, Place done) {
  return transfer(fd, pieces, count, done, [&](int file, const iovec* vectors, int size) {
    return ::preadv(file, vectors, size, static_cast<off_t>(offset));
  });
}

wasi::Error Wasi::fd_pwrite(Fd fd, Place pieces, Size count, std::uint64_t offset, Place done) {
  return transfer(fd, pieces, count, done, [&](int file, const iovec* vectors, int size) {
    return ::pwritev(file, vectors, size, static_cast<off_t>(offset));
  });
}

wasi::Error Wasi::fd_advise(Fd fd,
                            std::uint64_t /*offset*/,
                            std::uint64_t /*size*/,
                            std::uint32_t /*advice*/) {
  return host(fd) < 0 ? Error::kBadDescriptor : Error::kSuccess;
}

wasi::Error Wasi::fd_allocate(Fd /*fd*/, std::uint64_t /*offset*/, std::uint64_t /*size*/) {
  return Error::kNotSupported;
}

wasi::Error Wasi::fd_close(Fd fd) {
  if (host(fd) < 0) {
    return Error::kBadDescriptor;
  }
  open_[fd].reset();
  return Error::kSuccess;
}

wasi::Error Wasi::fd_renumber(Fd from, Fd to) {
  if (host(from) < 0 || host(to) < 0) {
    return Error::kBadDescriptor;
  }
  if (from != to) {
    open_[to] = std::exchange(open_[from], std::nullopt);
  }
  return Error::kSuccess;
}

wasi::Error Wasi::fd_datasync(Fd fd) { return result_of(::fdatasync(host(fd))); }

wasi::Error Wasi::fd_sync(Fd fd) { return result_of(::fsync(host(fd))); }

wasi::Error Wasi::fd_fdstat_get(Fd fd, Place to) {
  struct stat status {};
  const int file = host(fd);
  const int flags = ::fcntl(file, F_GETFL);
  const auto place = memory_.at(to, wasi::kFdStatSize);
  if (flags < 0 || ::fstat(file, &status) != 0) {
    return last_error();
  }
  if (!place) {
    return Error::kFault;
  }
  const wasi::FileType type = type_of(status.st_mode);
  std::uint64_t rights = wasi::kEveryRight;
  if (type != wasi::FileType::kDirectory) {
    rights &= (flags & O_ACCMODE) == O_WRONLY ? ~wasi::kMayRead : ~0ULL;
    rights &= (flags & O_ACCMODE) == O_RDONLY ? ~wasi::kMayWrite : ~0ULL;
  }
  if (type != wasi::FileType::kDirectory && type != wasi::FileType::kRegular) {
    // libc recognizes a terminal by this.
    rights &= ~(wasi::kMaySeek | wasi::kMayTell);
  }
  std::uint16_t shown = 0;
  shown |= (flags & O_APPEND) != 0 ? wasi::kAppend : 0;
  shown |= (flags & O_NONBLOCK) != 0 ? wasi::kNonBlocking : 0;
  shown |= (flags & O_SYNC) == O_SYNC ? wasi::kSync : 0;
  shown |= (flags & O_SYNC) == O_DSYNC ? wasi::kDataSync : 0;
  std::ranges::fill(*place, 0);
  (*place)[0] = static_cast<unsigned char>(type);
  put<std::uint16_t>(*place, 2, shown);
  put<std::uint64_t>(*place, 8, rights);
  put<std::uint64_t>(*place, 16, rights);
  return Error::kSuccess;
}

wasi::Error Wasi::fd_fdstat_set_flags(Fd fd, std::uint32_t flags) {
  // What an open file synchronizes cannot change.
  return result_of(::fcntl(host(fd), F_SETFL, status_flags(flags) & (O_APPEND | O_NONBLOCK)));
}

wasi::Error Wasi::fd_fdstat_set_rights(Fd /*fd*/,
                                       std::uint64_t /*base*/,
                                       std::uint64_t /*inheriting*/) {
  return Error::kNotSupported;
}

wasi::Error Wasi::put_status(int file, Place to) {
  struct stat status {};
  const auto place = memory_.at(to, wasi::kFileStatSize);
  if (!place) {
    return Error::kFault;
  }
  if (::fstat(file, &status) != 0) {
    return last_error();
  }
  const World::Identity identity =
      world_.identity_of({.device = status.st_dev, .number = status.st_ino});
  std::ranges::fill(*place, 0);
  put<std::uint64_t>(*place, 0, identity.device);
  put<std::uint64_t>(*place, 8, identity.number);
  (*place)[16] = static_cast<unsigned char>(type_of(status.st_mode));
  put<std::uint64_t>(*place, 24, status.st_nlink);
  put<std::uint64_t>(*place, 32, static_cast<std::uint64_t>(status.st_size));
  put<std::uint64_t>(*place, 40, world_.time_of_file(nanoseconds_of(status.st_atim)));
  put<std::uint64_t>(*place, 48, world_.time_of_file(nanoseconds_of(status.st_mtim)));
  put<std::uint64_t>(*place, 56, world_.time_of_file(nanoseconds_of(status.st_ctim)));
  return Error::kSuccess;
}

wasi::Error Wasi::fd_filestat_get(Fd fd, Place to) { return put_status(host(fd), to); }

wasi::Error Wasi::fd_filestat_set_size(Fd fd, std::uint64_t size) {
  return result_of(::ftruncate(host(fd), static_cast<off_t>(size)));
}

wasi::Error Wasi::fd_filestat_set_times(Fd fd,
                                        std::uint64_t accessed,
                                        std::uint64_t modified,
                                        std::uint32_t flags) {
  const auto times = times_of(world_, accessed, modified, flags);
  return times ? result_of(::futimens(host(fd), times->data())) : Error::kInvalid;
}

wasi::Error Wasi::fd_prestat_get(Fd fd, Place to) {
  if (host(fd) < 0 || open_[fd]->preopened.empty()) {
    return Error::kBadDescriptor;
  }
  const auto place = memory_.at(to, wasi::kPreopenedSize);
  if (!place) {
    return Error::kFault;
  }
  std::ranges::fill(*place, 0);  // A directory.
  put<std::uint32_t>(*place, 4, static_cast<std::uint32_t>(open_[fd]->preopened.size()));
  return Error::kSuccess;
}

wasi::Error Wasi::fd_prestat_dir_name(Fd fd, Place to, Size size) {
  if (host(fd) < 0 || open_[fd]->preopened.empty()) {
    return Error::kBadDescriptor;
  }
  const std::string_view name = open_[fd]->preopened;
  if (size < name.size()) {
    return Error::kNameTooLong;
  }
  const auto place = memory_.at(to, name.size());
  if (!place) {
    return Error::kFault;
  }
  std::ranges::copy(name, place->begin());
  return Error::kSuccess;
}

wasi::Error Wasi::fd_readdir(Fd fd, Place to, Size size, std::uint64_t cookie, Place used) {
  const int directory = host(fd);
  auto place = memory_.at(to, size);
  if (!place) {
    return Error::kFault;
  }
  if (directory < 0) {
    return Error::kBadDescriptor;
  }
  if (::lseek(directory, static_cast<off_t>(cookie), SEEK_SET) < 0) {
    return errno == ESPIPE ? Error::kNotDirectory : last_error();
  }
  alignas(dirent64) std::array<char, kEntriesSize> entries;
  const auto append = [&place](std::span<const unsigned char> bytes) {
    const std::size_t part = std::min(bytes.size(), place->size());
    std::ranges::copy(bytes.first(part), place->begin());
    *place = place->subspan(part);
  };
  // One that does not fit is cut off: the module asks again, with more room.
  while (!place->empty()) {
    const ssize_t got = ::getdents64(directory, entries.data(), entries.size());
    if (got < 0) {
      return last_error();
    }
    if (got == 0) {
      break;
    }
    for (ssize_t at = 0; at < got && !place->empty();) {
      const auto& entry = *reinterpret_cast<const dirent64*>(entries.data() + at);
      const std::string_view name(entry.d_name);
      std::array<unsigned char, wasi::kEntrySize> head{};
      put<std::uint64_t>(head, 0, static_cast<std::uint64_t>(entry.d_off));
      put<std::uint64_t>(head, 8, world_.listed_number(entry.d_ino));
      put<std::uint32_t>(head, 16, static_cast<std::uint32_t>(name.size()));
      head[20] = static_cast<unsigned char>(type_of(DTTOIF(entry.d_type)));
      append(head);
      append({reinterpret_cast<const unsigned char*>(name.data()), name.size()});
      at += entry.d_reclen;
    }
  }
  return memory_.store<std::uint32_t>(used, size - static_cast<std::uint32_t>(place->size()))
             ? Error::kSuccess
             : Error::kFault;
}

wasi::Error Wasi::fd_seek(Fd fd, std::uint64_t offset, std::uint32_t whence, Place to) {
  constexpr std::array<int, 3> kWhence = {SEEK_SET, SEEK_CUR, SEEK_END};
  if (whence >= kWhence.size()) {
    return Error::kInvalid;
  }
  const off_t result = ::lseek(host(fd), static_cast<off_t>(offset), kWhence[whence]);
  if (result < 0) {
    return last_error();
  }
  return memory_.store<std::uint64_t>(to, static_cast<std::uint64_t>(result)) ? Error::kSuccess
                                                                              : Error::kFault;
}

wasi::Error Wasi::fd_tell(Fd fd, Place to) { return fd_seek(fd, 0, 1, to); }

wasi::Error Wasi::path_open(Fd fd,
                            std::uint32_t lookup,
                            Place path,
                            Size size,
                            std::uint32_t how,
                            std::uint64_t rights,
                            std::uint64_t /*inheriting*/,
                            std::uint32_t flags,
                            Place to) {
  std::uint64_t open = static_cast<std::uint64_t>(status_flags(flags)) | O_NOCTTY;
  open |= (lookup & wasi::kFollowLink) != 0 ? 0 : O_NOFOLLOW;
  open |= (how & wasi::kCreate) != 0 ? O_CREAT : 0;
  open |= (how & wasi::kExclusive) != 0 ? O_EXCL : 0;
  open |= (how & wasi::kTruncate) != 0 ? O_TRUNC : 0;
  if ((how & wasi::kMustBeDirectory) != 0) {
    open |= O_DIRECTORY;
  } else if ((rights & wasi::kMayWrite) != 0) {
    open |= (rights & wasi::kMayRead) != 0 ? O_RDWR : O_WRONLY;
  }
  UniqueFd file;
  const Error error = open_beneath(fd, path, size, open, file);
  return error == Error::kSuccess ? keep(std::move(file), to) : error;
}

wasi::Error Wasi::path_filestat_get(Fd fd, std::uint32_t flags, Place path, Size size, Place to) {
  UniqueFd file;
  const std::uint64_t follow = (flags & wasi::kFollowLink) != 0 ? 0 : O_NOFOLLOW;
  const Error error = open_beneath(fd, path, size, O_PATH | follow, file);
  return error == Error::kSuccess ? put_status(file.get(), to) : error;
}

wasi::Error Wasi::path_filestat_set_times(Fd fd,
                                          std::uint32_t flags,
                                          Place path,
                                          Size size,
                                          std::uint64_t accessed,
                                          std::uint64_t modified,
                                          std::uint32_t which) {
  const auto times = times_of(world_, accessed, modified, which);
  if (!times) {
    return Error::kInvalid;
  }
  UniqueFd file;
  const std::uint64_t follow = (flags & wasi::kFollowLink) != 0 ? 0 : O_NOFOLLOW;
  const Error error = open_beneath(fd, path, size, O_PATH | follow, file);
  return error == Error::kSuccess
             ? result_of(::utimensat(file.get(), "", times->data(), AT_EMPTY_PATH))
             : error;
}

wasi::Error Wasi::path_create_directory(Fd fd, Place path, Size size) {
  Named named;
  const Error error = find_parent(fd, path, size, named);
  return error == Error::kSuccess
             ? result_of(::mkdirat(named.directory.get(), named.name.c_str(), 0777))
             : error;
}

wasi::Error Wasi::path_remove_directory(Fd fd, Place path, Size size) {
  Named named;
  const Error error = find_parent(fd, path, size, named);
  return error == Error::kSuccess
             ? result_of(::unlinkat(named.directory.get(), named.name.c_str(), AT_REMOVEDIR))
             : error;
}

wasi::Error Wasi::path_unlink_file(Fd fd, Place path, Size size) {
  Named named;
  const Error error = find_parent(fd, path, size, named);
  return error == Error::kSuccess
             ? result_of(::unlinkat(named.directory.get(), named.name.c_str(), 0))
             : error;
}

wasi::Error Wasi::path_link(
    Fd from_fd, std::uint32_t flags, Place from, Size from_size, Fd to_fd, Place to, Size to_size) {
  Named source;
  Named target;
  if ((flags & wasi::kFollowLink) != 0) {
    return Error::kInvalid;
  }
  if (const Error error = find_parent(from_fd, from, from_size, source); error != Error::kSuccess) {
    return error;
  }
  if (const Error error = find_parent(to_fd, to, to_size, target); error != Error::kSuccess) {
    return error;
  }
  return result_of(::linkat(source.directory.get(), source.name.c_str(), target.directory.get(),
                            target.name.c_str(), 0));
}

wasi::Error Wasi::path_rename(
    Fd from_fd, Place from, Size from_size, Fd to_fd, Place to, Size to_size) {
  Named source;
  Named target;
  if (const Error error = find_parent(from_fd, from, from_size, source); error != Error::kSuccess) {
    return error;
  }
  if (const Error error = find_parent(to_fd, to, to_size, target); error != Error::kSuccess) {
    return error;
  }
  return result_of(::renameat(source.directory.get(), source.name.c_str(), target.directory.get(),
                              target.name.c_str()));
}

wasi::Error Wasi::path_symlink(Place target, Size target_size, Fd fd, Place path, Size size) {
  std::string leads_to;
  Named named;
  if (const Error error = path_at(target, target_size, leads_to); error != Error::kSuccess) {
    return error;
  }
  // A later reader of the files may follow it.
  if (leads_to.front() == '/') {
    return Error::kPermission;
  }
  const Error error = find_parent(fd, path, size, named);
  return error == Error::kSuccess
             ? result_of(::symlinkat(leads_to.c_str(), named.directory.get(), named.name.c_str()))
             : error;
}

wasi::Error Wasi::path_readlink(Fd fd, Place path, Size size, Place to, Size to_size, Place used) {
  UniqueFd link;
  const auto place = memory_.at(to, to_size);
  if (!place) {
    return Error::kFault;
  }
  if (const Error error = open_beneath(fd, path, size, O_PATH | O_NOFOLLOW, link);
      error != Error::kSuccess) {
    return error;
  }
  const ssize_t got =
      ::readlinkat(link.get(), "", reinterpret_cast<char*>(place->data()), place->size());
  if (got < 0) {
    return errno == ENOENT ? Error::kInvalid : last_error();  // Not a link.
  }
  return memory_.store<std::uint32_t>(used, static_cast<std::uint32_t>(got)) ? Error::kSuccess
                                                                             : Error::kFault;
}

}  // namespace glovebox::wasm
