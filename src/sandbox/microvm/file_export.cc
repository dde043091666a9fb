// SPDX-License-Identifier: Apache-2.0
#include "sandbox/microvm/file_export.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/wire.h"

namespace glovebox::microvm {
namespace {

constexpr std::uint64_t kForever = 1U << 30;  // Seconds: the tree does not change.

// Directories whose content the asking kernel has itself.
constexpr std::array<std::string_view, 3> kKernels = {"proc", "sys", "dev"};

// The T at the start of the bytes; zeros where they are too few.
template <typename T>
T start_of(std::string_view bytes) {
  T value{};
  if (bytes.size() >= sizeof value) {
    std::memcpy(&value, bytes.data(), sizeof value);
  }
  return value;
}

long open_at(int root, const std::string& path, int flags) {
  const open_how how{.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW,
                     .mode = 0,
                     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  return fd < 0 ? -errno : fd;
}

// 0, or a negative errno.
long look_at(int root, const std::string& path, struct stat& status) {
  const long opened = open_at(root, path, O_PATH);
  if (opened < 0) {
    return opened;
  }
  const UniqueFd fd(static_cast<int>(opened));
  return ::fstat(fd.get(), &status) == 0 ? 0 : -errno;
}

fuse_attr attributes_of(const struct stat& status, std::uint64_t id) {
  return {.ino = id,
          .size = static_cast<std::uint64_t>(status.st_size),
          .blocks = static_cast<std::uint64_t>(status.st_blocks),
          .atime = static_cast<std::uint64_t>(status.st_mtim.tv_sec),
          .mtime = static_cast<std::uint64_t>(status.st_mtim.tv_sec),
          .ctime = static_cast<std::uint64_t>(status.st_ctim.tv_sec),
          .atimensec = static_cast<std::uint32_t>(status.st_mtim.tv_nsec),
          .mtimensec = static_cast<std::uint32_t>(status.st_mtim.tv_nsec),
          .ctimensec = static_cast<std::uint32_t>(status.st_ctim.tv_nsec),
          .mode = status.st_mode,
          .nlink = static_cast<std::uint32_t>(status.st_nlink),
          .uid = 0,
          .gid = 0,
          .rdev = 0,
          .blksize = 4096,
          .flags = 0};
}

}  // namespace

FileExport::FileExport(UniqueFd root) : root_(std::move(root)) {
  nodes_[FUSE_ROOT_ID] = {.path = ".", .lookups = 1};
}

std::string FileExport::names() const {
  WireWriter writer;
  for (const auto& [id, node] : nodes_) {
    writer.u64(id);
    writer.u64(node.lookups);
    writer.text(node.path);
  }
  return writer.take();
}

bool FileExport::remember(std::string_view names) {
  WireReader reader(names);
  while (reader.ok() && !reader.complete()) {
    const Id id = reader.u64();
    const std::uint64_t lookups = reader.u64();
    std::string path(reader.text());
    if (id == FUSE_ROOT_ID) {
      continue;
    }
    last_ = std::max(last_, id);
    ids_[path] = id;
    nodes_[id] = {.path = std::move(path), .lookups = lookups};
  }
  return reader.complete();
}

template <typename T>
long FileExport::put(const T& value) {
  std::memcpy(out_.data() + sizeof(fuse_out_header) + size_, &value, sizeof value);
  size_ += sizeof value;
  return static_cast<long>(size_);
}

const FileExport::Node* FileExport::find(Id id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::string_view FileExport::answer(std::string_view request) {
  const auto header = start_of<fuse_in_header>(request);
  const std::string_view body = request.substr(sizeof header);
  size_ = 0;
  long result = -ENOSYS;
  switch (header.opcode) {
    case FUSE_INIT:
      result = initialize(body);
      break;
    case FUSE_LOOKUP:
      result = look_up(header.nodeid, body.substr(0, body.find('\0')));
      break;
    case FUSE_GETATTR:
      result = attributes(header.nodeid);
      break;
    case FUSE_READLINK:
      result = read_link(header.nodeid);
      break;
    case FUSE_READ:
      result = read_file(header.nodeid, body);
      break;
    case FUSE_READDIR:
      result = read_directory(header.nodeid, body);
      break;
    case FUSE_STATFS:
      result = file_system();
      break;
    case FUSE_FORGET:
      forget(header.nodeid, start_of<fuse_forget_in>(body).nlookup);
      return {};
    case FUSE_BATCH_FORGET:
      forget_many(body);
      return {};
    case FUSE_INTERRUPT:  // Nothing to interrupt: answers come at once.
      return {};
    case FUSE_SETATTR:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case FUSE_LINK:
    case FUSE_SYMLINK:
    case FUSE_WRITE:
    case FUSE_CREATE:
      result = -EROFS;
      break;
    default:  // Also for open: ENOSYS says that nothing has to be opened.
      break;
  }
  const fuse_out_header out{
      .len = static_cast<std::uint32_t>(sizeof out + (result > 0 ? result : 0)),
      .error = static_cast<std::int32_t>(std::min(result, 0L)),
      .unique = header.unique};
  std::memcpy(out_.data(), &out, sizeof out);
  return {out_.data(), out.len};
}

long FileExport::initialize(std::string_view body) {
  const auto in = start_of<fuse_init_in>(body);
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = FUSE_KERNEL_MINOR_VERSION;
  out.max_readahead = kLongestRead;
  out.flags = in.flags &
              (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT |
               FUSE_PARALLEL_DIROPS | FUSE_CACHE_SYMLINKS | FUSE_MAX_PAGES);
  out.max_background = 16;
  out.congestion_threshold = 12;
  out.max_write = 4096;
  out.time_gran = 1;
  out.max_pages = kLongestRead / 4096;
  return put(out);
}

long FileExport::look_up(Id parent, std::string_view name) {
  const Node* const directory = find(parent);
  if (directory == nullptr) {
    return -ESTALE;
  }
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos) {
    return -EINVAL;
  }
  if (std::ranges::find(kKernels, directory->path) != kKernels.end()) {
    return -ENOENT;
  }
  std::string path(name);
  if (parent != FUSE_ROOT_ID) {
    path = directory->path + "/" + path;
  }
  fuse_entry_out out{};
  out.entry_valid = kForever;
  out.attr_valid = kForever;
  struct stat status {};
  const long looked = look_at(root_.get(), path, status);
  if (looked == -ENOENT) {
    return put(out);  // Node 0: the kernel remembers that there is none.
  }
  if (looked < 0) {
    return looked;
  }
  auto known = ids_.find(path);
  if (known == ids_.end()) {
    if (nodes_.size() >= kMostNodes) {
      return -ENOMEM;
    }
    known = ids_.emplace(path, ++last_).first;
    nodes_[last_] = {.path = std::move(path), .lookups = 0};
  }
  ++nodes_[known->second].lookups;
  out.nodeid = known->second;
  out.attr = attributes_of(status, known->second);
  return put(out);
}

long FileExport::attributes(Id id) {
  const Node* const node = find(id);
  if (node == nullptr) {
    return -ESTALE;
  }
  struct stat status {};
  if (const long looked = look_at(root_.get(), node->path, status); looked < 0) {
    return looked;
  }
  fuse_attr_out out{};
  out.attr_valid = kForever;
  out.attr = attributes_of(status, id);
  return put(out);
}

long FileExport::read_link(Id id) {
  const Node* const node = find(id);
  if (node == nullptr) {
    return -ESTALE;
  }
  const long opened = open_at(root_.get(), node->path, O_PATH);
  if (opened < 0) {
    return opened;
  }
  const UniqueFd fd(static_cast<int>(opened));
  const ssize_t size =
      ::readlinkat(fd.get(), "", out_.data() + sizeof(fuse_out_header), kLongestRead);
  return size < 0 ? -errno : size;
}

long FileExport::open_for_reading(Id id, int flags) {
  if (const auto found = open_.find(id); found != open_.end()) {
    return found->second.get();
  }
  const Node* const node = find(id);
  if (node == nullptr) {
    return -ESTALE;
  }
  // The type first: opening a pipe or a device has an effect.
  struct stat status {};
  if (const long looked = look_at(root_.get(), node->path, status); looked < 0) {
    return looked;
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return -EACCES;
  }
  const long opened = open_at(root_.get(), node->path, O_RDONLY | O_NONBLOCK | flags);
  if (opened < 0) {
    return opened;
  }
  if (open_.size() >= kMostOpen) {
    open_.erase(open_.begin());
  }
  open_[id] = UniqueFd(static_cast<int>(opened));
  return opened;
}

long FileExport::read_file(Id id, std::string_view body) {
  const auto in = start_of<fuse_read_in>(body);
  const long fd = open_for_reading(id, 0);
  if (fd < 0) {
    return fd;
  }
  const ssize_t got =
      ::pread(static_cast<int>(fd), out_.data() + sizeof(fuse_out_header),
              std::min<std::size_t>(in.size, kLongestRead), static_cast<off_t>(in.offset));
  return got < 0 ? -errno : got;
}

long FileExport::read_directory(Id id, std::string_view body) {
  const auto in = start_of<fuse_read_in>(body);
  const long fd = open_for_reading(id, O_DIRECTORY);
  if (fd < 0) {
    return fd;
  }
  if (::lseek(static_cast<int>(fd), static_cast<off_t>(in.offset), SEEK_SET) < 0) {
    return -errno;
  }
  // An entry of ours takes less than three times what the kernel's takes.
  const std::size_t room = std::min<std::size_t>(in.size, kLongestRead);
  alignas(8) std::array<char, 16UL * 1024> entries;
  const long got = ::syscall(SYS_getdents64, fd, entries.data(), std::min(entries.size(), room));
  if (got < 0) {
    return -errno;
  }
  for (long at = 0; at < got;) {
    const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
    const std::size_t length = std::strlen(entry->d_name);
    const std::size_t taken = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
    if (size_ + taken > room) {
      break;
    }
    char* const to = out_.data() + sizeof(fuse_out_header) + size_;
    std::memset(to, 0, taken);
    const fuse_dirent head{.ino = entry->d_ino,
                           .off = static_cast<std::uint64_t>(entry->d_off),
                           .namelen = static_cast<std::uint32_t>(length),
                           .type = entry->d_type};
    std::memcpy(to, &head, FUSE_NAME_OFFSET);
    std::memcpy(to + FUSE_NAME_OFFSET, entry->d_name, length);
    size_ += taken;
    at += entry->d_reclen;
  }
  return static_cast<long>(size_);
}

long FileExport::file_system() {
  struct statvfs status {};
  if (::fstatvfs(root_.get(), &status) != 0) {
    return -errno;
  }
  fuse_statfs_out out{};
  out.st.bsize = 4096;
  out.st.frsize = 4096;
  out.st.namelen = 255;
  return put(out);
}

void FileExport::forget(Id id, std::uint64_t lookups) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == FUSE_ROOT_ID) {
    return;
  }
  Node& node = found->second;
  node.lookups -= std::min(node.lookups, lookups);
  if (node.lookups == 0) {
    open_.erase(id);
    ids_.erase(node.path);
    nodes_.erase(found);
  }
}

void FileExport::forget_many(std::string_view body) {
  const auto in = start_of<fuse_batch_forget_in>(body);
  body.remove_prefix(std::min(body.size(), sizeof in));
  for (std::uint32_t i = 0; i < in.count && body.size() >= sizeof(fuse_forget_one); ++i) {
    const auto one = start_of<fuse_forget_one>(body);
    forget(one.nodeid, one.nlookup);
    body.remove_prefix(sizeof one);
  }
}

}  // namespace glovebox::microvm
