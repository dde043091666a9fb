// SPDX-License-Identifier: Apache-2.0
#include "archiver/layer_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/raw.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxName = 4095;
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::size_t kLookEvery = 256;  // Entries.

struct ReaderDeleter {
  void operator()(struct archive* reader) const { (void)::archive_read_free(reader); }
};
using Reader = std::unique_ptr<struct archive, ReaderDeleter>;

Error bad_entry(std::string_view name, std::string_view why) {
  return {ErrorCode::kInvalid, "entry '" + printable(name) + "': " + std::string(why)};
}

Error unreadable(struct archive* reader) {
  const char* const text = ::archive_error_string(reader);
  return {ErrorCode::kInvalid, std::string("read a layer: ") +
                                   (text != nullptr ? printable(text) : "not a tar archive")};
}

// As if `root` were the root of the file system.
UniqueFd open_in_root(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = sys::raw(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how);
  if (fd < 0) {
    errno = static_cast<int>(-fd);
    return {};
  }
  return UniqueFd(static_cast<int>(fd));
}

// The name without "./" and slashes at its ends; empty for the root itself.
Result<std::string> clean_name(const char* name) {
  if (name == nullptr || *name == '\0') {
    return bad_entry("", "empty name");
  }
  const std::string_view whole(name);
  if (whole.size() > kMaxName) {
    return bad_entry(whole.substr(0, 64), "name too long");
  }
  std::string clean;
  for (std::size_t at = 0; at <= whole.size();) {
    const std::size_t end = std::min(whole.find('/', at), whole.size());
    const std::string_view part = whole.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      return bad_entry(whole, "'..' in the name");
    }
    if (!part.empty() && part != ".") {
      clean += (clean.empty() ? "" : "/") + std::string(part);
    }
  }
  return clean;
}

struct Place {
  UniqueFd parent;
  std::string name;
};

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::pair(std::string(), path)
                                    : std::pair(path.substr(0, slash), path.substr(slash + 1));
}

// The directory, with those above it; what stands in the way and is none goes.
Result<UniqueFd> make_directories(int root, const std::string& path) {
  if (UniqueFd there = open_in_root(root, path, O_RDONLY | O_DIRECTORY)) {
    return there;
  }
  UniqueFd current = open_in_root(root, "", O_RDONLY | O_DIRECTORY);
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string known = path.substr(0, end);
    UniqueFd next = open_in_root(root, known, O_RDONLY | O_DIRECTORY);
    if (!next) {
      const std::string name = path.substr(at, end - at);
      (void)::unlinkat(current.get(), name.c_str(), 0);
      if (::mkdirat(current.get(), name.c_str(), 0755) != 0) {
        return Error::from_errno("create directory '" + printable(known) + "'");
      }
      next = open_in_root(root, known, O_RDONLY | O_DIRECTORY);
    }
    if (!next) {
      return Error::from_errno("open directory '" + printable(known) + "'");
    }
    current = std::move(next);
    at = end + 1;
  }
  return current;
}

// Whatever has that name, a directory with all below it.
void remove_at(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) {
    return;
  }
  (void)sys::remove_tree_at(parent, name);
}

void remove_all_in(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy < 0 ? nullptr : ::fdopendir(copy),
                                                    ::closedir);
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* const entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      names.emplace_back(name);
    }
  }
  for (const std::string& name : names) {
    remove_at(directory, name);
  }
}

// What the owner may do, everybody may: the guest is another user.
mode_t mode_for_all(mode_t mode) {
  const bool runs = (mode & 0111U) != 0;
  return runs ? 0755 : 0644;
}

Result<void> write_all(int fd, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::write(fd, from, size);
    if (put < 0 && errno != EINTR) {
      return Error::from_errno("write a file of a layer");
    }
    if (put > 0) {
      from += put;
      size -= static_cast<std::size_t>(put);
    }
  }
  return {};
}

}  // namespace

// One reading of one layer. Whiteouts concern the layers below alone, wherever they stand among the
// entries: so they are read first, and the entries in a second reading.
class LayerPass {
 public:
  enum class Kind { kWhiteouts, kEntries };
  LayerPass(LayerUnpacker& unpacker, Kind kind) : unpacker_(unpacker), kind_(kind) {}

  Result<void> run(int layer_fd) {
    if (::lseek(layer_fd, 0, SEEK_SET) != 0) {
      return Error::from_errno("read a layer");
    }
    const Reader reader(::archive_read_new());
    (void)::archive_read_support_filter_gzip(reader.get());
    (void)::archive_read_support_filter_zstd(reader.get());
    (void)::archive_read_support_format_tar(reader.get());
    (void)::archive_read_support_format_empty(reader.get());
    if (::archive_read_open_fd(reader.get(), layer_fd, 64 * 1024) < ARCHIVE_WARN) {
      return unreadable(reader.get());
    }
    std::uint64_t skipped = 0;
    for (std::size_t count = 0;; ++count) {
      struct archive_entry* entry = nullptr;
      const int status = ::archive_read_next_header(reader.get(), &entry);
      if (status == ARCHIVE_EOF) {
        return {};
      }
      if (status < ARCHIVE_WARN) {
        return unreadable(reader.get());
      }
      if (count % kLookEvery == 0 && unpacker_.wanted_ && !unpacker_.wanted_()) {
        return Error(ErrorCode::kUnavailable, "canceled");
      }
      if (count > unpacker_.left_.entries) {
        return Error(ErrorCode::kExhausted, "the image has too many files");
      }
      // What the first reading passes over is decompressed all the same.
      skipped += static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_entry_size(entry), 0));
      if (skipped > unpacker_.left_.bytes && kind_ == Kind::kWhiteouts) {
        return too_large();
      }
      const std::string path = GB_TRY(clean_name(::archive_entry_pathname(entry)));
      const bool whiteout = split(path).second.starts_with(kWhiteout);
      if (kind_ == Kind::kWhiteouts && whiteout) {
        apply_whiteout(path);
      } else if (kind_ == Kind::kEntries && !whiteout) {
        if (unpacker_.left_.entries == 0) {
          return Error(ErrorCode::kExhausted, "the image has too many files");
        }
        --unpacker_.left_.entries;
        GB_TRY(unpack(reader.get(), entry, path));
      }
    }
  }

 private:
  static Error too_large() {
    return {ErrorCode::kExhausted, "the image exceeds the size limit for templates"};
  }

  void apply_whiteout(const std::string& path) {
    const auto [above, name] = split(path);
    const UniqueFd parent = open_in_root(unpacker_.root_fd_, above, O_RDONLY | O_DIRECTORY);
    if (!parent) {
      return;
    }
    const std::string hidden = name.substr(kWhiteout.size());
    if (name == kOpaque) {
      remove_all_in(parent.get());
    } else if (!hidden.empty() && hidden != "." && hidden != ".." &&
               !hidden.starts_with(kWhiteout)) {
      remove_at(parent.get(), hidden);
    }
  }

  Result<void> unpack(struct archive* reader,
                      struct archive_entry* entry,
                      const std::string& path) {
    const mode_t mode = ::archive_entry_perm(entry);
    if (path.empty()) {
      return {};
    }
    const char* const hard = ::archive_entry_hardlink(entry);
    const auto [above, name] = split(path);
    const Place place{GB_TRY(make_directories(unpacker_.root_fd_, above)), name};
    if (hard != nullptr) {
      return link_hard(place, path, hard);
    }
    switch (::archive_entry_filetype(entry)) {
      case AE_IFDIR:
        return make_directory(place, path);
      case AE_IFREG:
        return write_file(reader, entry, place, mode);
      case AE_IFLNK:
        return link_soft(place, path, ::archive_entry_symlink(entry));
      default:
        ++unpacker_.left_out_;
        return {};
    }
  }

  static Result<void> make_directory(const Place& place, const std::string& path) {
    struct stat status {};
    if (::fstatat(place.parent.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISDIR(status.st_mode)) {
        return {};
      }
      remove_at(place.parent.get(), place.name);
    }
    if (::mkdirat(place.parent.get(), place.name.c_str(), 0755) != 0) {
      return Error::from_errno("create directory '" + printable(path) + "'");
    }
    return {};
  }

  Result<void> write_file(struct archive* reader,
                          struct archive_entry* entry,
                          const Place& place,
                          mode_t mode) {
    const std::uint64_t room = unpacker_.left_.bytes;
    remove_at(place.parent.get(), place.name);
    const UniqueFd file(::openat(place.parent.get(), place.name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      return Error::from_errno("write '" + printable(place.name) + "'");
    }
    for (;;) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = ::archive_read_data_block(reader, &block, &size, &offset);
      if (status == ARCHIVE_EOF) {
        break;
      }
      if (status < ARCHIVE_WARN) {
        return unreadable(reader);
      }
      if (size > unpacker_.left_.bytes || offset < 0 ||
          static_cast<std::uint64_t>(offset) > room - size) {
        return too_large();
      }
      unpacker_.left_.bytes -= size;
      if (::lseek(file.get(), offset, SEEK_SET) < 0) {
        return Error::from_errno("write a file of a layer");
      }
      GB_TRY(write_all(file.get(), static_cast<const char*>(block), size));
    }
    const la_int64_t whole =
        ::archive_entry_size_is_set(entry) != 0 ? ::archive_entry_size(entry) : 0;
    if (whole < 0 || static_cast<std::uint64_t>(whole) > room) {
      return too_large();
    }
    // A hole at its end is no block.
    struct stat written {};
    if (::fstat(file.get(), &written) != 0 ||
        (written.st_size < whole && ::ftruncate(file.get(), whole) != 0)) {
      return Error::from_errno("write a file of a layer");
    }
    const timespec times[2] = {{::archive_entry_mtime(entry), 0},
                               {::archive_entry_mtime(entry), 0}};
    (void)::futimens(file.get(), times);
    return ::fchmod(file.get(), mode_for_all(mode)) == 0 ? Result<void>()
                                                         : Error::from_errno("write a layer");
  }

  static Result<void> link_soft(const Place& place, const std::string& path, const char* target) {
    if (target == nullptr || *target == '\0' || std::string_view(target).size() > kMaxName) {
      return bad_entry(path, "a link without a target");
    }
    remove_at(place.parent.get(), place.name);
    if (::symlinkat(target, place.parent.get(), place.name.c_str()) != 0) {
      return Error::from_errno("link '" + printable(path) + "'");
    }
    return {};
  }

  // To a regular file of the image, by its own name: a link under it is not followed.
  Result<void> link_hard(const Place& place, const std::string& path, const char* target) {
    const std::string from = GB_TRY(clean_name(target));
    const auto [above, name] = split(from);
    const UniqueFd parent = open_in_root(unpacker_.root_fd_, above, O_RDONLY | O_DIRECTORY);
    struct stat status {};
    if (!parent || name.empty() ||
        ::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISREG(status.st_mode) || S_ISLNK(status.st_mode))) {
      return bad_entry(path, "a hard link to something that is not a file in the image");
    }
    struct stat there {};
    if (::fstatat(place.parent.get(), place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        there.st_ino == status.st_ino) {
      return {};
    }
    remove_at(place.parent.get(), place.name);
    if (::linkat(parent.get(), name.c_str(), place.parent.get(), place.name.c_str(), 0) != 0) {
      return Error::from_errno("link '" + printable(path) + "'");
    }
    return {};
  }

  LayerUnpacker& unpacker_;
  const Kind kind_;
};

Result<void> LayerUnpacker::unpack(int layer_fd) {
  GB_TRY(LayerPass(*this, LayerPass::Kind::kWhiteouts).run(layer_fd));
  return LayerPass(*this, LayerPass::Kind::kEntries).run(layer_fd);
}

}  // namespace glovebox
