// SPDX-License-Identifier: Apache-2.0
#include "warden/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

namespace glovebox::warden {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;

struct ReaderDeleter {
  void operator()(struct archive* reader) const { (void)::archive_read_free(reader); }
};
struct WriterDeleter {
  void operator()(struct archive* writer) const { (void)::archive_write_free(writer); }
};
struct EntryDeleter {
  void operator()(struct archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Reader = std::unique_ptr<struct archive, ReaderDeleter>;
using Writer = std::unique_ptr<struct archive, WriterDeleter>;
using Entry = std::unique_ptr<struct archive_entry, EntryDeleter>;

Error archive_error(struct archive* archive, std::string_view attempt) {
  const char* const text = ::archive_error_string(archive);
  return {ErrorCode::kInvalid,
          std::string(attempt) + ": " + (text != nullptr ? text : "unreadable archive")};
}

Error bad_entry(std::string_view name, std::string_view why) {
  return {ErrorCode::kInvalid, "entry '" + std::string(name) + "': " + std::string(why)};
}

Result<void> copy_content(struct archive* reader, int fd, std::string_view name) {
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = ::archive_read_data_block(reader, &block, &size, &offset);
    if (status == ARCHIVE_EOF) {
      break;
    }
    if (status < ARCHIVE_WARN) {
      return archive_error(reader, "read '" + std::string(name) + "'");
    }
    if (::lseek(fd, offset, SEEK_SET) < 0) {
      return Error::from_errno("write '" + std::string(name) + "'");
    }
    const char* from = static_cast<const char*>(block);
    while (size > 0) {
      const ssize_t put = ::write(fd, from, size);
      if (put < 0) {
        return Error::from_errno("write '" + std::string(name) + "'");
      }
      from += put;
      size -= static_cast<std::size_t>(put);
    }
  }
  return {};
}

Result<void> extract(const Workspace& workspace,
                     std::string_view directory,
                     struct archive* reader,
                     struct archive_entry* entry) {
  const char* name = ::archive_entry_pathname(entry);
  if (name == nullptr) {
    name = ::archive_entry_pathname_utf8(entry);
  }
  if (name == nullptr || *name == '\0') {
    return bad_entry("", "no name");
  }
  std::string_view relative = name;
  while (relative.starts_with("./")) {
    relative.remove_prefix(2);
  }
  while (relative.ends_with('/')) {
    relative.remove_suffix(1);
  }
  if (relative.empty() || relative == ".") {
    return {};
  }
  if (relative.starts_with('/')) {
    return bad_entry(name, "absolute name");
  }
  if (("/" + std::string(relative) + "/").find("/../") != std::string::npos) {
    return bad_entry(name, "'..' in its name");
  }
  if (::archive_entry_hardlink(entry) != nullptr) {
    return bad_entry(name, "hard links are not accepted");
  }
  const std::string path =
      directory.empty() ? std::string(relative) : std::string(directory) + "/" + std::string(relative);
  const auto mode = static_cast<std::uint32_t>(::archive_entry_perm(entry)) & 0777U;
  switch (::archive_entry_filetype(entry)) {
    case AE_IFDIR:
      return workspace.make_parents(path + "/");
    case AE_IFREG: {
      GB_TRY(workspace.make_parents(path));
      const UniqueFd file = GB_TRY(workspace.open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
      GB_TRY(copy_content(reader, file.get(), name));
      if (::archive_entry_size_is_set(entry) != 0) {
        // A hole at the end is no block.
        (void)::ftruncate(file.get(), ::archive_entry_size(entry));
      }
      (void)::fchmod(file.get(), mode);
      return {};
    }
    case AE_IFLNK: {
      const char* const target = ::archive_entry_symlink(entry);
      if (target == nullptr) {
        return bad_entry(name, "link without a target");
      }
      GB_TRY(workspace.make_parents(path));
      const std::size_t slash = path.rfind('/');
      const UniqueFd parent = GB_TRY(workspace.open(
          slash == std::string::npos ? "." : path.substr(0, slash), O_RDONLY | O_DIRECTORY));
      const std::string last = slash == std::string::npos ? path : path.substr(slash + 1);
      // A link may point anywhere: inside the sandbox it gives nothing that its guest has not.
      if (::symlinkat(target, parent.get(), last.c_str()) != 0) {
        return Error::from_errno("link '" + path + "'");
      }
      return {};
    }
    default:
      return bad_entry(name, "only files, directories and symbolic links are accepted");
  }
}

Result<void> add_file(const Workspace& workspace,
                      struct archive* writer,
                      const std::string& path,
                      std::uint64_t& left) {
  const auto file = workspace.open(path, O_RDONLY);
  struct stat status {};
  if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return {};  // Gone or swapped since it was listed.
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > left) {
    return {};
  }
  left -= size;
  const Entry entry(::archive_entry_new());
  ::archive_entry_set_pathname(entry.get(), path.c_str());
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  ::archive_entry_set_perm(entry.get(), static_cast<__LA_MODE_T>(status.st_mode & 0777));
  ::archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
  ::archive_entry_set_mtime(entry.get(), status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  if (::archive_write_header(writer, entry.get()) < ARCHIVE_WARN) {
    return archive_error(writer, "write '" + path + "'");
  }
  // Exactly `size` bytes: a file that grows is cut there, one that shrinks is padded with zeros by
  // libarchive when the next entry begins.
  std::array<char, 64 * 1024> block;
  std::uint64_t rest = size;
  while (rest > 0) {
    const ssize_t got = ::read(file->get(), block.data(), std::min<std::uint64_t>(rest, block.size()));
    if (got <= 0) {
      break;
    }
    if (::archive_write_data(writer, block.data(), static_cast<std::size_t>(got)) < 0) {
      return archive_error(writer, "write '" + path + "'");
    }
    rest -= static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

Result<void> unpack(const Workspace& workspace, std::string_view directory, int input_fd) {
  const Reader reader(::archive_read_new());
  (void)::archive_read_support_filter_gzip(reader.get());
  (void)::archive_read_support_format_tar(reader.get());
  if (::archive_read_open_fd(reader.get(), input_fd, 64 * 1024) < ARCHIVE_WARN) {
    return archive_error(reader.get(), "open archive");
  }
  for (std::size_t count = 0;; ++count) {
    struct archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(reader.get(), &entry);
    if (status == ARCHIVE_EOF) {
      return {};
    }
    if (status < ARCHIVE_WARN) {
      return archive_error(reader.get(), "read archive");
    }
    if (count >= kMaxEntries) {
      return Error(ErrorCode::kInvalid, "archive has more than a million entries");
    }
    GB_TRY(extract(workspace, directory, reader.get(), entry));
  }
}

Result<void> pack(const Workspace& workspace, const PackRequest& request, int output_fd) {
  const Writer writer(::archive_write_new());
  (void)::archive_write_set_format_pax_restricted(writer.get());
  (void)::archive_write_set_options(writer.get(), "hdrcharset=BINARY");
  if (::archive_write_open_fd(writer.get(), output_fd) < ARCHIVE_WARN) {
    return archive_error(writer.get(), "open archive");
  }
  std::uint64_t left = request.max_bytes;
  if (request.changed_only) {
    for (const FileChange& change : workspace.changes().files) {
      if (change.kind != FileChange::Kind::kDeleted) {
        GB_TRY(add_file(workspace, writer.get(), change.path, left));
      }
    }
  } else {
    bool truncated = false;
    for (const auto& [path, seen] : workspace.walk(request.path, truncated)) {
      GB_TRY(add_file(workspace, writer.get(), path, left));
    }
  }
  if (::archive_write_close(writer.get()) < ARCHIVE_WARN) {
    return archive_error(writer.get(), "finish archive");
  }
  return {};
}

}  // namespace glovebox::warden
