// SPDX-License-Identifier: Apache-2.0
#include <archive.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "base/archive/archive_reader.h"
#include "base/sys/beneath.h"
#include "base/sys/write_all.h"
#include "files/server/pack.h"
#include "files/server/place.h"
#include "files/server/write.h"

namespace glovebox::files {
namespace {

constexpr std::size_t kMaxArchiveEntries = 1'000'000;

// What is in the way of an entry, such as a link, is the archive's fault.
Error in_the_way(std::string_view name, const Error& error) {
  return error.code() == ErrorCode::kInternal ? bad_entry(name, error.message()) : error;
}

Result<void> make_file(ArchiveReader& reader,
                       const ArchiveEntry& entry,
                       int parent,
                       const std::string& name) {
  const UniqueFd file(
      ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return file_error(name);
  }
  // The file system limits the total size.
  constexpr std::uint64_t kLongest = std::numeric_limits<std::int64_t>::max();
  std::uint64_t left = kLongest;
  const auto copied = reader.copy_content(entry, file.get(), kLongest, left);
  if (!copied) {
    const int error = copied.error().os_error();
    return error != 0 ? file_error("write " + name, error) : copied.error();
  }
  if (!*copied) {
    return bad_entry(name, "cannot be written");
  }
  (void)::fchmod(file.get(), (entry.mode & 0777U) | 0600U);
  if (entry.modified) {
    const std::array<timespec, 2> times = {*entry.modified, *entry.modified};
    (void)::futimens(file.get(), times.data());
  }
  return {};
}

Result<void> make_link(const ArchiveEntry& entry, int parent, const std::string& name) {
  if (entry.target.empty()) {
    return bad_entry(name, "a link without a target");
  }
  return ::symlinkat(entry.target.c_str(), parent, name.c_str()) == 0 ? Result<void>()
                                                                      : file_error(name);
}

// Whatever already has the name of a file or a link is removed.
Result<void> extract(ArchiveReader& reader, const ArchiveEntry& entry, int directory) {
  if (entry.name.starts_with('/')) {
    return bad_entry(entry.name, "absolute name");
  }
  const std::string path = GB_TRY(clean_entry_name(entry.name));
  using Kind = ArchiveEntry::Kind;
  if (path.empty()) {
    return {};  // The directory itself.
  }
  if (entry.kind == Kind::kHardLink) {
    return bad_entry(path, "hard links are not accepted");
  }
  if (entry.kind == Kind::kDirectory) {
    auto made = sys::make_parents_beneath(directory, path + "/");
    return made ? std::move(made) : in_the_way(path, made.error());
  }
  if (entry.kind != Kind::kFile && entry.kind != Kind::kSymlink) {
    return bad_entry(path, "only files, directories and symbolic links are accepted");
  }
  if (const auto made = sys::make_parents_beneath(directory, path); !made) {
    return in_the_way(path, made.error());
  }
  const std::size_t slash = path.rfind('/');
  const auto opened = sys::open_beneath(
      directory, slash == std::string::npos ? "." : path.substr(0, slash), O_PATH);
  if (!opened) {
    return in_the_way(path, opened.error());
  }
  const int parent = opened->get();
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (::unlinkat(parent, name.c_str(), 0) != 0 && errno != ENOENT) {
    return file_error("replace " + path);
  }
  return entry.kind == Kind::kFile ? make_file(reader, entry, parent, name)
                                   : make_link(entry, parent, name);
}

// A zip has its table at its end, so it must lie there as a whole.
Result<UniqueFd> store(int directory_fd, std::string_view first, Upload& upload) {
  UniqueFd file = GB_TRY(nameless_file(directory_fd));
  while (!first.empty()) {
    if (!sys::write_all(file.get(), first)) {
      return file_error("write");
    }
    first = GB_TRY(upload.next());
  }
  if (::lseek(file.get(), 0, SEEK_SET) < 0) {
    return file_error("seek");
  }
  return file;
}

// The bytes of all frames until there are enough to tell what kind of archive they begin.
Result<std::string> read_start(Upload& upload) {
  std::string start;
  while (start.size() < 4) {
    const std::string_view piece = GB_TRY(upload.next());
    if (piece.empty()) {
      break;
    }
    start += piece;
  }
  return start;
}

// `stored` holds it if it is a zip.
Result<ArchiveReader> open_archive(int directory_fd,
                                   std::string_view start,
                                   Upload& upload,
                                   UniqueFd& stored) {
  constexpr std::string_view kAttempt = "unreadable archive";
  if (start.starts_with("PK")) {
    stored = GB_TRY(store(directory_fd, start, upload));
    return ArchiveReader::open(stored.get(), {::archive_read_support_format_zip_seekable},
                               kAttempt);
  }
  const auto feed = [&upload, start]() mutable -> Result<std::string_view> {
    const std::string_view first = std::exchange(start, {});
    return first.empty() ? upload.next() : first;
  };
  return ArchiveReader::open(
      feed, {::archive_read_support_filter_gzip, ::archive_read_support_format_tar}, kAttempt);
}

}  // namespace

Result<void> unpack(std::string_view path, Upload& upload) {
  // With its parents: the place of a name in it has them all.
  const UniqueFd directory = GB_TRY(make_place(std::string(path) + "/.")).parent;
  const std::string start = GB_TRY(read_start(upload));
  UniqueFd stored;
  ArchiveReader reader = GB_TRY(open_archive(directory.get(), start, upload, stored));
  ArchiveEntry entry;
  for (std::size_t count = 0; GB_TRY(reader.next(entry)); ++count) {
    if (count == kMaxArchiveEntries) {
      return Error(ErrorCode::kExhausted, "the archive has too many entries");
    }
    GB_TRY(extract(reader, entry, directory.get()));
  }
  return {};
}

}  // namespace glovebox::files
