// SPDX-License-Identifier: Apache-2.0
#include "files/server/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "base/archive/tar_stream.h"
#include "files/server/place.h"
#include "files/server/tree.h"

namespace glovebox::files {
namespace {

struct WriterDeleter {
  void operator()(struct archive* writer) const { (void)::archive_write_free(writer); }
};
struct EntryDeleter {
  void operator()(struct archive_entry* entry) const { ::archive_entry_free(entry); }
};
using Writer = std::unique_ptr<struct archive, WriterDeleter>;
using Entry = std::unique_ptr<struct archive_entry, EntryDeleter>;

la_ssize_t send_piece(struct archive* writer, void* data, const void* bytes, std::size_t size) {
  const std::size_t piece = std::min(size, kPiece);
  auto& channel = *static_cast<Channel*>(data);
  if (!channel.send(Reply::kData, {static_cast<const char*>(bytes), piece})) {
    ::archive_set_error(writer, EPIPE, "the client disconnected");
    return -1;
  }
  return static_cast<la_ssize_t>(piece);
}

Result<Writer> open_writer(FileClient::ArchiveFormat format, Channel& channel) {
  Writer writer(::archive_write_new());
  if (format == FileClient::ArchiveFormat::kZip) {
    (void)::archive_write_set_format_zip(writer.get());
  } else {
    (void)::archive_write_set_format_raw(writer.get());  // The tar is ours (tar_stream.h).
  }
  if (format == FileClient::ArchiveFormat::kTarGzip) {
    (void)::archive_write_add_filter_gzip(writer.get());
  }
  (void)::archive_write_set_bytes_per_block(writer.get(), static_cast<int>(kPiece));
  (void)::archive_write_set_bytes_in_last_block(writer.get(), 1);
  if (::archive_write_open(writer.get(), &channel, nullptr, send_piece, nullptr) < ARCHIVE_WARN) {
    return Error(ErrorCode::kInternal, "cannot create an archive");
  }
  return writer;
}

Error complain(struct archive* writer) {
  const char* const text = ::archive_error_string(writer);
  return {ErrorCode::kUnavailable,
          std::string("pack: ") + (text != nullptr ? text : "the archive cannot be written")};
}

Result<void> begin_entry(struct archive* writer, struct archive_entry* entry) {
  return ::archive_write_header(writer, entry) < ARCHIVE_WARN ? complain(writer) : Result<void>();
}

Result<void> put_all(struct archive* writer, std::string_view bytes) {
  while (!bytes.empty()) {
    const la_ssize_t put = ::archive_write_data(writer, bytes.data(), bytes.size());
    if (put <= 0) {
      return complain(writer);
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

// The entries of a zip, which knows no holes.
class ZipStream {
 public:
  explicit ZipStream(struct archive* writer) : writer_(writer) {}

  Result<void> add_directory(const std::string& path, const struct stat& status) {
    return begin_entry(writer_, describe(path, status, AE_IFDIR).get());
  }

  Result<void> add_link(const std::string& path, const struct stat& status, const char* target) {
    const Entry entry = describe(path, status, AE_IFLNK);
    ::archive_entry_set_symlink(entry.get(), target);
    return begin_entry(writer_, entry.get());
  }

  Result<void> add_file(const std::string& path, const struct stat& status, int fd) {
    if (status.st_size > kMostZipped && status.st_blocks < status.st_size / 1024) {
      return Error(ErrorCode::kInvalid,
                   "'" + path + "' is sparse, which zip does not support: use tar");
    }
    GB_TRY(begin_entry(writer_, describe(path, status, AE_IFREG).get()));
    // Exactly the size that was promised: libarchive fills up what a file has lost meanwhile.
    for (auto left = static_cast<std::uint64_t>(status.st_size); left > 0;) {
      const ssize_t got = ::read(fd, piece_.data(), std::min<std::uint64_t>(left, piece_.size()));
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        break;
      }
      GB_TRY(put_all(writer_, std::string_view(piece_).substr(0, static_cast<std::size_t>(got))));
      left -= static_cast<std::uint64_t>(got);
    }
    return {};
  }

  static Result<void> finish() { return {}; }

 private:
  static constexpr off_t kMostZipped = off_t{16} << 30;

  static Entry describe(const std::string& path, const struct stat& status, unsigned type) {
    Entry entry(::archive_entry_new());
    ::archive_entry_set_pathname(entry.get(), path.c_str());
    ::archive_entry_set_filetype(entry.get(), type);
    ::archive_entry_set_perm(entry.get(), static_cast<__LA_MODE_T>(status.st_mode & 0777));
    ::archive_entry_set_mtime(entry.get(), status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    ::archive_entry_set_size(entry.get(), type == AE_IFREG ? status.st_size : 0);
    return entry;
  }

  struct archive* writer_;
  std::string piece_ = std::string(kPiece, '\0');
};

// Returns whether to continue below it.
template <typename Stream>
Result<bool> add(Stream& stream, const Visited& visited) {
  struct stat status {};
  const char* const name = visited.name.c_str();
  if (::fstatat(visited.directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return false;
  }
  if (S_ISDIR(status.st_mode)) {
    GB_TRY(stream.add_directory(visited.path + "/", status));
    return true;
  }
  if (S_ISLNK(status.st_mode)) {
    std::array<char, PATH_MAX> target{};
    if (::readlinkat(visited.directory_fd, name, target.data(), target.size() - 1) > 0) {
      GB_TRY(stream.add_link(visited.path, status, target.data()));
    }
  } else if (S_ISREG(status.st_mode)) {
    const UniqueFd file(::openat(visited.directory_fd, name,
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
      GB_TRY(stream.add_file(visited.path, status, file.get()));
    }
  }
  return false;
}

template <typename Stream>
Result<void> add_all(int directory, Stream stream) {
  GB_TRY(walk(directory, [&](const Visited& visited) { return add(stream, visited); }));
  return stream.finish();
}

Result<void> add_tar(int directory, struct archive* writer) {
  // The one entry that libarchive's raw format has.
  const Entry entry(::archive_entry_new());
  ::archive_entry_set_filetype(entry.get(), AE_IFREG);
  GB_TRY(begin_entry(writer, entry.get()));
  return add_all(directory,
                 TarStream([writer](std::string_view bytes) { return put_all(writer, bytes); }));
}

}  // namespace

Result<void> pack(std::string_view path, FileClient::ArchiveFormat format, Channel& channel) {
  const UniqueFd directory(::open(inner_path(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    return file_error(path);
  }
  const Writer writer = GB_TRY(open_writer(format, channel));
  GB_TRY(format == FileClient::ArchiveFormat::kZip
             ? add_all(directory.get(), ZipStream(writer.get()))
             : add_tar(directory.get(), writer.get()));
  if (::archive_write_close(writer.get()) < ARCHIVE_WARN) {
    return Error(ErrorCode::kUnavailable, "cannot finish the archive");
  }
  return {};
}

}  // namespace glovebox::files
