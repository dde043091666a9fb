// SPDX-License-Identifier: Apache-2.0
#include "archiver/layer_unpack.h"

#include <archive.h>
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

#include "base/archive/archive_reader.h"
#include "base/sys/raw.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr std::size_t kMaxTarget = 4095;
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::size_t kLookEvery = 256;  // Entries.

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

struct Place {
  UniqueFd parent;
  std::string name;
};

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::pair(std::string(), path)
                                    : std::pair(path.substr(0, slash), path.substr(slash + 1));
}

// Makes the directory and those above it; removes what is in the way and is not a directory.
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

// Removes whatever has that name, a directory with all below it.
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

// Everybody may read a file, and run it if anybody may: the guest is another user.
mode_t mode_for_all(mode_t mode) {
  const bool runs = (mode & 0111U) != 0;
  return runs ? 0755 : 0644;
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
    ArchiveReader reader = GB_TRY(ArchiveReader::open(
        layer_fd,
        {::archive_read_support_filter_gzip, ::archive_read_support_filter_zstd,
         ::archive_read_support_format_tar, ::archive_read_support_format_empty},
        "read a layer"));
    std::uint64_t passed = 0;
    ArchiveEntry entry;
    for (std::size_t count = 0; GB_TRY(reader.next(entry)); ++count) {
      if (count % kLookEvery == 0 && unpacker_.wanted_ && !unpacker_.wanted_()) {
        return Error(ErrorCode::kUnavailable, "canceled");
      }
      if (count > unpacker_.left_.entries) {
        return too_many();
      }
      const std::string path = GB_TRY(clean_entry_name(entry.name));
      const bool whiteout = split(path).second.starts_with(kWhiteout);
      if (kind_ == Kind::kWhiteouts) {
        // What the first reading passes over is decompressed all the same.
        const std::uint64_t size = entry.size.value_or(0);
        if (size > unpacker_.left_.bytes - passed) {
          return too_large();
        }
        passed += size;
        if (whiteout) {
          apply_whiteout(path);
        }
      } else if (!whiteout) {
        if (unpacker_.left_.entries == 0) {
          return too_many();
        }
        --unpacker_.left_.entries;
        GB_TRY(unpack(reader, entry, path));
      }
    }
    return {};
  }

 private:
  static Error too_large() {
    return {ErrorCode::kExhausted, "the image exceeds the size limit for templates"};
  }

  static Error too_many() { return {ErrorCode::kExhausted, "the image has too many files"}; }

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

  Result<void> unpack(ArchiveReader& reader, const ArchiveEntry& entry, const std::string& path) {
    if (path.empty()) {
      return {};
    }
    const auto [above, name] = split(path);
    const Place place{GB_TRY(make_directories(unpacker_.root_fd_, above)), name};
    switch (entry.kind) {
      case ArchiveEntry::Kind::kHardLink:
        return link_hard(place, path, entry.target);
      case ArchiveEntry::Kind::kDirectory:
        return make_directory(place, path);
      case ArchiveEntry::Kind::kFile:
        return write_file(reader, entry, place);
      case ArchiveEntry::Kind::kSymlink:
        return link_soft(place, path, entry.target);
      case ArchiveEntry::Kind::kOther:
        break;
    }
    ++unpacker_.left_out_;
    return {};
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

  Result<void> write_file(ArchiveReader& reader, const ArchiveEntry& entry, const Place& place) {
    remove_at(place.parent.get(), place.name);
    const UniqueFd file(::openat(place.parent.get(), place.name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      return Error::from_errno("write '" + printable(place.name) + "'");
    }
    std::uint64_t& left = unpacker_.left_.bytes;
    if (!GB_TRY(reader.copy_content(entry, file.get(), left, left))) {
      return too_large();
    }
    const timespec modified{entry.modified.value_or(timespec{}).tv_sec, 0};
    const timespec times[2] = {modified, modified};
    (void)::futimens(file.get(), times);
    return ::fchmod(file.get(), mode_for_all(entry.mode)) == 0 ? Result<void>()
                                                               : Error::from_errno("write a layer");
  }

  static Result<void> link_soft(const Place& place,
                                const std::string& path,
                                const std::string& target) {
    if (target.empty() || target.size() > kMaxTarget) {
      return bad_entry(path, "a link without a target");
    }
    remove_at(place.parent.get(), place.name);
    if (::symlinkat(target.c_str(), place.parent.get(), place.name.c_str()) != 0) {
      return Error::from_errno("link '" + printable(path) + "'");
    }
    return {};
  }

  // To a regular file of the image, by its own name: a link under it is not followed.
  Result<void> link_hard(const Place& place, const std::string& path, const std::string& target) {
    const std::string from = GB_TRY(clean_entry_name(target));
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
