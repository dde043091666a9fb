// SPDX-License-Identifier: Apache-2.0
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "base/sys/beneath.h"
#include "files/server/pack.h"
#include "files/server/place.h"
#include "files/server/write.h"

namespace glovebox::files {
namespace {

constexpr std::size_t kMaxArchiveEntries = 1'000'000;

struct ReaderDeleter {
  void operator()(struct archive* reader) const { (void)::archive_read_free(reader); }
};
using Reader = std::unique_ptr<struct archive, ReaderDeleter>;

// Where libarchive reads from: pieces as they come.
struct Feed {
  Upload& upload;
  std::string_view first;  // Looked at already.
  std::optional<Error> error;
};

la_ssize_t feed(struct archive* reader, void* data, const void** bytes) {
  auto& feed = *static_cast<Feed*>(data);
  std::string_view piece = std::exchange(feed.first, {});
  if (piece.empty()) {
    const auto next = feed.upload.next();
    if (!next) {
      feed.error = next.error();
      ::archive_set_error(reader, EPIPE, "unexpected end of data");
      return -1;
    }
    piece = next.value();
  }
  *bytes = piece.data();
  return static_cast<la_ssize_t>(piece.size());
}

Error bad_entry(std::string_view name, std::string_view why) {
  return {ErrorCode::kInvalid, "entry '" + std::string(name) + "': " + std::string(why)};
}

// What is in the way of an entry, a link most of all, is the archive's fault.
Error in_the_way(std::string_view name, const Error& error) {
  return error.code() == ErrorCode::kInternal ? bad_entry(name, error.message()) : error;
}

class Extraction {
 public:
  Extraction(struct archive* reader, int directory_fd)
      : reader_(reader), directory_(directory_fd) {}

  Result<void> extract(struct archive_entry* entry) {
    const std::string path = GB_TRY(clean_name(entry));
    const auto type = ::archive_entry_filetype(entry);
    if (path.empty()) {
      return {};  // The directory itself.
    }
    if (::archive_entry_hardlink(entry) != nullptr) {
      return bad_entry(path, "hard links are not accepted");
    }
    if (type == AE_IFDIR) {
      auto made = sys::make_parents_beneath(directory_, path + "/");
      return made ? std::move(made) : in_the_way(path, made.error());
    }
    if (type != AE_IFREG && type != AE_IFLNK) {
      return bad_entry(path, "only files, directories and symbolic links are accepted");
    }
    if (const auto made = sys::make_parents_beneath(directory_, path); !made) {
      return in_the_way(path, made.error());
    }
    const std::size_t slash = path.rfind('/');
    const auto opened = sys::open_beneath(
        directory_, slash == std::string::npos ? "." : path.substr(0, slash), O_PATH);
    if (!opened) {
      return in_the_way(path, opened.error());
    }
    const int parent = opened->get();
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (::unlinkat(parent, name.c_str(), 0) != 0 && errno != ENOENT) {
      return file_error("replace " + path);
    }
    return type == AE_IFREG ? make_file(entry, parent, name) : make_link(entry, parent, name);
  }

 private:
  static Result<std::string> clean_name(struct archive_entry* entry) {
    const char* name = ::archive_entry_pathname(entry);
    if (name == nullptr) {
      name = ::archive_entry_pathname_utf8(entry);
    }
    if (name == nullptr || *name == '\0') {
      return bad_entry("", "empty name");
    }
    std::string_view rest = name;
    if (rest.starts_with('/')) {
      return bad_entry(name, "absolute name");
    }
    std::string clean;
    while (!rest.empty()) {
      const std::size_t slash = rest.find('/');
      const std::string_view part = rest.substr(0, slash);
      rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
      if (part == "..") {
        return bad_entry(name, "'..' in the name");
      }
      if (!part.empty() && part != ".") {
        clean += (clean.empty() ? "" : "/") + std::string(part);
      }
    }
    return clean;
  }

  Result<void> make_file(struct archive_entry* entry, int parent, const std::string& name) {
    const UniqueFd file(
        ::openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      return file_error(name);
    }
    GB_TRY(copy_content(file.get(), name));
    if (::archive_entry_size_is_set(entry) != 0 &&
        ::ftruncate(file.get(), ::archive_entry_size(entry)) != 0) {
      return file_error("write " + name);
    }
    (void)::fchmod(file.get(), (::archive_entry_perm(entry) & 0777U) | 0600U);
    if (::archive_entry_mtime_is_set(entry) != 0) {
      const timespec modified{::archive_entry_mtime(entry), ::archive_entry_mtime_nsec(entry)};
      const std::array<timespec, 2> times = {modified, modified};
      (void)::futimens(file.get(), times.data());
    }
    return {};
  }

  Result<void> copy_content(int fd, const std::string& name) {
    for (;;) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = ::archive_read_data_block(reader_, &block, &size, &offset);
      if (status == ARCHIVE_EOF) {
        return {};
      }
      if (status < ARCHIVE_WARN) {
        return bad_entry(name, "cannot be read");
      }
      if (offset < 0 || ::lseek(fd, offset, SEEK_SET) < 0) {
        return bad_entry(name, "cannot be written");
      }
      GB_TRY(write_all(fd, {static_cast<const char*>(block), size}));
    }
  }

  static Result<void> make_link(struct archive_entry* entry, int parent, const std::string& name) {
    const char* const target = ::archive_entry_symlink(entry);
    if (target == nullptr || ::symlinkat(target, parent, name.c_str()) != 0) {
      return target == nullptr ? bad_entry(name, "a link without a target") : file_error(name);
    }
    return {};
  }

  struct archive* reader_;
  int directory_;
};

// A zip has its table at its end, so it must lie there as a whole.
Result<UniqueFd> store(int directory_fd, std::string_view first, Upload& upload) {
  UniqueFd file = GB_TRY(nameless_file(directory_fd));
  while (!first.empty()) {
    GB_TRY(write_all(file.get(), first));
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

}  // namespace

Result<void> unpack(std::string_view path, Upload& upload) {
  // With its parents: the place of a name in it has them all.
  const UniqueFd directory = GB_TRY(make_place(std::string(path) + "/.")).parent;
  const std::string start = GB_TRY(read_start(upload));
  const Reader reader(::archive_read_new());
  Feed source{.upload = upload, .first = start, .error = std::nullopt};
  UniqueFd stored;
  int opened = ARCHIVE_OK;
  if (start.starts_with("PK")) {
    stored = GB_TRY(store(directory.get(), start, upload));
    (void)::archive_read_support_format_zip_seekable(reader.get());
    opened = ::archive_read_open_fd(reader.get(), stored.get(), kPiece);
  } else {
    (void)::archive_read_support_filter_gzip(reader.get());
    (void)::archive_read_support_format_tar(reader.get());
    opened = ::archive_read_open(reader.get(), &source, nullptr, feed, nullptr);
  }
  Extraction extraction(reader.get(), directory.get());
  for (std::size_t count = 0;; ++count) {
    struct archive_entry* entry = nullptr;
    const int status =
        opened < ARCHIVE_WARN ? opened : ::archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return {};
    }
    if (source.error) {
      return *source.error;
    }
    if (status < ARCHIVE_WARN) {
      const char* const text = ::archive_error_string(reader.get());
      return Error(ErrorCode::kInvalid,
                   std::string("unreadable archive: ") + (text != nullptr ? text : "damaged"));
    }
    if (count == kMaxArchiveEntries) {
      return Error(ErrorCode::kExhausted, "the archive has too many entries");
    }
    if (auto made = extraction.extract(entry); !made) {
      return source.error ? *source.error : std::move(made).error();
    }
  }
}

}  // namespace glovebox::files
