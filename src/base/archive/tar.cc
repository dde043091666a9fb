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
#include <utility>

#include "base/archive/archive_reader.h"
#include "base/sys/beneath.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

struct EntryDeleter {
  void operator()(struct archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Entry = std::unique_ptr<struct archive_entry, EntryDeleter>;

Error archive_error(struct archive* archive, std::string_view attempt) {
  const char* const text = ::archive_error_string(archive);
  return {ErrorCode::kInvalid,
          std::string(attempt) + ": " + (text != nullptr ? text : "unknown error")};
}

// One archive being extracted.
class Extraction {
 public:
  Extraction(ArchiveReader reader, int directory_fd, const TarRules& rules)
      : reader_(std::move(reader)),
        directory_fd_(directory_fd),
        rules_(rules),
        left_(rules.max_bytes) {}

  Result<void> run(const std::function<void(std::string_view)>& made) {
    ArchiveEntry entry;
    for (std::size_t count = 0; GB_TRY(reader_.next(entry)); ++count) {
      if (count >= rules_.max_entries) {
        return Error(ErrorCode::kInvalid, "the archive has too many entries");
      }
      const std::string path = GB_TRY(accepted_name(entry));
      GB_TRY(extract(entry, path));
      if (entry.kind == ArchiveEntry::Kind::kFile && made) {
        made(path);
      }
    }
    return {};
  }

 private:
  static Result<std::string> accepted_name(const ArchiveEntry& entry) {
    std::string_view relative = entry.name;
    while (relative.starts_with("./")) {
      relative.remove_prefix(2);
    }
    if (relative.starts_with('/')) {
      return bad_entry(entry.name, "absolute name");
    }
    std::string path = GB_TRY(clean_entry_name(entry.name));
    if (path.empty() && entry.kind != ArchiveEntry::Kind::kDirectory) {
      return bad_entry(".", "only a directory may have this name");
    }
    return path;
  }

  Result<void> extract(const ArchiveEntry& entry, const std::string& path) {
    switch (entry.kind) {
      case ArchiveEntry::Kind::kDirectory:
        return sys::make_parents_beneath(directory_fd_, path + "/");
      case ArchiveEntry::Kind::kFile:
        return extract_file(entry, path);
      case ArchiveEntry::Kind::kSymlink:
        return extract_link(entry, path);
      case ArchiveEntry::Kind::kHardLink:
        return bad_entry(path, "hard links are not accepted");
      case ArchiveEntry::Kind::kOther:
        break;
    }
    return bad_entry(path, "only files, directories and symbolic links are accepted");
  }

  Result<void> extract_file(const ArchiveEntry& entry, const std::string& path) {
    GB_TRY(sys::make_parents_beneath(directory_fd_, path));
    const UniqueFd file =
        GB_TRY(sys::open_beneath(directory_fd_, path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return bad_entry(path, "something other than a regular file already has this name");
    }
    if (!GB_TRY(reader_.copy_content(entry, file.get(), rules_.max_bytes, left_))) {
      return bad_entry(path, "larger than allowed");
    }
    (void)::fchmod(file.get(), (entry.mode & rules_.mode_mask) | 0600U);
    return {};
  }

  Result<void> extract_link(const ArchiveEntry& entry, const std::string& path) {
    if (!rules_.symlinks || entry.target.empty()) {
      return bad_entry(path, "symbolic links are not accepted here");
    }
    GB_TRY(sys::make_parents_beneath(directory_fd_, path));
    const std::size_t slash = path.rfind('/');
    const UniqueFd parent = GB_TRY(
        sys::open_beneath(directory_fd_, slash == std::string::npos ? "." : path.substr(0, slash),
                          O_RDONLY | O_DIRECTORY));
    const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
    if (::symlinkat(entry.target.c_str(), parent.get(), last.c_str()) != 0) {
      return Error::from_errno("link '" + path + "'");
    }
    return {};
  }

  ArchiveReader reader_;
  int directory_fd_;
  const TarRules& rules_;
  std::uint64_t left_;
};

}  // namespace

Result<void> extract_tar(int input_fd,
                         int directory_fd,
                         const TarRules& rules,
                         const std::function<void(std::string_view)>& made) {
  ArchiveReader reader = GB_TRY(ArchiveReader::open(
      input_fd, {::archive_read_support_filter_gzip, ::archive_read_support_format_tar},
      "read archive"));
  return Extraction(std::move(reader), directory_fd, rules).run(made);
}

void TarWriter::Deleter::operator()(struct archive* writer) const {
  // Without finish() the archive gets no end, by which a reader would take what is there for all of
  // it.
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
