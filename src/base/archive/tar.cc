// SPDX-License-Identifier: Apache-2.0
#include "base/archive/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/sys/beneath.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

struct ReaderDeleter {
  void operator()(struct archive* reader) const { (void)::archive_read_free(reader); }
};
struct EntryDeleter {
  void operator()(struct archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Reader = std::unique_ptr<struct archive, ReaderDeleter>;
using Entry = std::unique_ptr<struct archive_entry, EntryDeleter>;

Error archive_error(struct archive* archive, std::string_view attempt) {
  const char* const text = ::archive_error_string(archive);
  return {ErrorCode::kInvalid,
          std::string(attempt) + ": " + (text != nullptr ? text : "unreadable archive")};
}

Error bad_entry(std::string_view name, std::string_view why) {
  return {ErrorCode::kInvalid, "entry '" + std::string(name) + "': " + std::string(why)};
}

Result<void> write_all(int fd, const char* from, std::size_t size, std::string_view name) {
  while (size > 0) {
    const ssize_t put = ::write(fd, from, size);
    if (put < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error::from_errno("write '" + std::string(name) + "'");
    }
    from += put;
    size -= static_cast<std::size_t>(put);
  }
  return {};
}

// One archive being extracted.
class Extraction {
 public:
  Extraction(struct archive* reader, int directory_fd, const TarRules& rules)
      : reader_(reader), directory_fd_(directory_fd), rules_(rules), left_(rules.max_bytes) {}

  // The name of the regular file that was made; empty for anything else.
  Result<std::string> extract(struct archive_entry* entry) {
    const std::string path = GB_TRY(clean_name(entry));
    const auto type = ::archive_entry_filetype(entry);
    if (path.empty()) {
      if (type != AE_IFDIR) {
        return bad_entry(".", "only a directory may have this name");
      }
      return path;
    }
    switch (type) {
      case AE_IFDIR:
        GB_TRY(sys::make_parents_beneath(directory_fd_, path + "/"));
        return std::string();
      case AE_IFREG:
        GB_TRY(extract_file(entry, path));
        return path;
      case AE_IFLNK:
        GB_TRY(extract_link(entry, path));
        return std::string();
      default:
        return bad_entry(path, "only files, directories and symbolic links are accepted");
    }
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
    std::string_view relative = name;
    while (relative.starts_with("./")) {
      relative.remove_prefix(2);
    }
    while (relative.ends_with('/') && relative.size() > 1) {
      relative.remove_suffix(1);
    }
    if (relative.starts_with('/')) {
      return bad_entry(name, "absolute name");
    }
    if (("/" + std::string(relative) + "/").find("/../") != std::string::npos) {
      return bad_entry(name, "'..' in the name");
    }
    if (::archive_entry_hardlink(entry) != nullptr) {
      return bad_entry(name, "hard links are not accepted");
    }
    return relative == "." ? std::string() : std::string(relative);
  }

  Result<void> extract_file(struct archive_entry* entry, const std::string& path) {
    GB_TRY(sys::make_parents_beneath(directory_fd_, path));
    const UniqueFd file =
        GB_TRY(sys::open_beneath(directory_fd_, path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return bad_entry(path, "something other than a regular file already has this name");
    }
    GB_TRY(copy_content(file.get(), path));
    if (::archive_entry_size_is_set(entry) != 0) {
      const la_int64_t size = ::archive_entry_size(entry);
      // A hole at the end is no block, and costs nothing; its size was bounded above.
      if (size < 0 || static_cast<std::uint64_t>(size) > rules_.max_bytes) {
        return bad_entry(path, "larger than allowed");
      }
      if (::ftruncate(file.get(), size) != 0) {
        return Error::from_errno("write '" + path + "'");
      }
    }
    const auto mode = static_cast<std::uint32_t>(::archive_entry_perm(entry));
    (void)::fchmod(file.get(), (mode & rules_.mode_mask) | 0600U);
    return {};
  }

  Result<void> copy_content(int fd, const std::string& path) {
    for (;;) {
      const void* block = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int status = ::archive_read_data_block(reader_, &block, &size, &offset);
      if (status == ARCHIVE_EOF) {
        return {};
      }
      if (status < ARCHIVE_WARN) {
        return archive_error(reader_, "read '" + path + "'");
      }
      if (size > left_ || offset < 0 || static_cast<std::uint64_t>(offset) > rules_.max_bytes) {
        return bad_entry(path, "larger than allowed");
      }
      left_ -= size;
      if (::lseek(fd, offset, SEEK_SET) < 0) {
        return Error::from_errno("write '" + path + "'");
      }
      GB_TRY(write_all(fd, static_cast<const char*>(block), size, path));
    }
  }

  Result<void> extract_link(struct archive_entry* entry, const std::string& path) {
    const char* const target = ::archive_entry_symlink(entry);
    if (!rules_.symlinks || target == nullptr) {
      return bad_entry(path, "symbolic links are not accepted here");
    }
    GB_TRY(sys::make_parents_beneath(directory_fd_, path));
    const std::size_t slash = path.rfind('/');
    const UniqueFd parent = GB_TRY(
        sys::open_beneath(directory_fd_, slash == std::string::npos ? "." : path.substr(0, slash),
                          O_RDONLY | O_DIRECTORY));
    const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
    if (::symlinkat(target, parent.get(), last.c_str()) != 0) {
      return Error::from_errno("link '" + path + "'");
    }
    return {};
  }

  struct archive* reader_;
  int directory_fd_;
  const TarRules& rules_;
  std::uint64_t left_;
};

}  // namespace

Result<void> extract_tar(int input_fd,
                         int directory_fd,
                         const TarRules& rules,
                         const std::function<void(std::string_view)>& made) {
  const Reader reader(::archive_read_new());
  (void)::archive_read_support_filter_gzip(reader.get());
  (void)::archive_read_support_format_tar(reader.get());
  if (::archive_read_open_fd(reader.get(), input_fd, 64 * 1024) < ARCHIVE_WARN) {
    return archive_error(reader.get(), "open archive");
  }
  Extraction extraction(reader.get(), directory_fd, rules);
  for (std::size_t count = 0;; ++count) {
    struct archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return {};
    }
    if (status < ARCHIVE_WARN) {
      return archive_error(reader.get(), "read archive");
    }
    if (count >= rules.max_entries) {
      return Error(ErrorCode::kInvalid, "the archive has too many entries");
    }
    const std::string file = GB_TRY(extraction.extract(entry));
    if (!file.empty() && made) {
      made(file);
    }
  }
}

void TarWriter::Deleter::operator()(struct archive* writer) const {
  // Without finish() it gets no end, by which a reader would take what is there for all.
  (void)::archive_write_fail(writer);
  (void)::archive_write_free(writer);
}

Result<TarWriter> TarWriter::create(int output_fd) {
  TarWriter tar(::archive_write_new());
  (void)::archive_write_set_format_pax_restricted(tar.writer_.get());
  // Names are bytes: no conversion that could fail or change them.
  (void)::archive_write_set_options(tar.writer_.get(), "hdrcharset=BINARY");
  if (::archive_write_open_fd(tar.writer_.get(), output_fd) < ARCHIVE_WARN) {
    return archive_error(tar.writer_.get(), "open archive");
  }
  return tar;
}

Result<void> TarWriter::add_file(const std::string& name, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    return Error::from_errno("stat " + name);
  }
  const Entry entry(::archive_entry_new());
  ::archive_entry_set_pathname(entry.get(), name.c_str());
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  ::archive_entry_set_perm(entry.get(), static_cast<__LA_MODE_T>(status.st_mode & 0777));
  ::archive_entry_set_size(entry.get(), status.st_size);
  ::archive_entry_set_mtime(entry.get(), status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  if (::archive_write_header(writer_.get(), entry.get()) < ARCHIVE_WARN) {
    return archive_error(writer_.get(), "write '" + name + "'");
  }
  std::array<char, 64 * 1024> block;
  for (auto rest = static_cast<std::uint64_t>(status.st_size); rest > 0;) {
    const ssize_t got = ::read(fd, block.data(), std::min<std::uint64_t>(rest, block.size()));
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error::from_errno("read '" + name + "'");
    }
    if (got == 0) {
      break;
    }
    if (::archive_write_data(writer_.get(), block.data(), static_cast<std::size_t>(got)) < 0) {
      return archive_error(writer_.get(), "write '" + name + "'");
    }
    rest -= static_cast<std::uint64_t>(got);
  }
  return {};
}

Result<void> TarWriter::add_directory(const std::string& name, std::uint32_t mode) {
  const Entry entry(::archive_entry_new());
  ::archive_entry_set_pathname(entry.get(), (name + "/").c_str());
  ::archive_entry_set_filetype(entry.get(), AE_IFDIR);
  ::archive_entry_set_perm(entry.get(), mode & 0777);
  if (::archive_write_header(writer_.get(), entry.get()) < ARCHIVE_WARN) {
    return archive_error(writer_.get(), "write '" + name + "'");
  }
  return {};
}

Result<void> TarWriter::add_symlink(const std::string& name, const std::string& target) {
  const Entry entry(::archive_entry_new());
  ::archive_entry_set_pathname(entry.get(), name.c_str());
  ::archive_entry_set_filetype(entry.get(), AE_IFLNK);
  ::archive_entry_set_perm(entry.get(), 0777);
  ::archive_entry_set_symlink(entry.get(), target.c_str());
  if (::archive_write_header(writer_.get(), entry.get()) < ARCHIVE_WARN) {
    return archive_error(writer_.get(), "write '" + name + "'");
  }
  return {};
}

Result<void> TarWriter::finish() {
  if (::archive_write_close(writer_.get()) < ARCHIVE_WARN) {
    return archive_error(writer_.get(), "finish archive");
  }
  return {};
}

}  // namespace glovebox
