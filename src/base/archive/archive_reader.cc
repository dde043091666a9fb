// SPDX-License-Identifier: Apache-2.0
#include "base/archive/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/sys/write_all.h"
#include "base/text.h"

namespace glovebox {
namespace {

constexpr std::size_t kReadAtOnce = 64UL * 1024;
constexpr std::size_t kLongestName = 4095;  // What the kernel takes, without the NUL byte.

std::string owned(const char* text) { return text != nullptr ? text : std::string(); }

ArchiveEntry::Kind kind_of(struct archive_entry* entry) {
  // What has no name in this locale is a hard link all the same.
  if (::archive_entry_hardlink(entry) != nullptr ||
      ::archive_entry_hardlink_utf8(entry) != nullptr) {
    return ArchiveEntry::Kind::kHardLink;
  }
  switch (::archive_entry_filetype(entry)) {
    case AE_IFREG:
      return ArchiveEntry::Kind::kFile;
    case AE_IFDIR:
      return ArchiveEntry::Kind::kDirectory;
    case AE_IFLNK:
      return ArchiveEntry::Kind::kSymlink;
    default:
      return ArchiveEntry::Kind::kOther;
  }
}

ArchiveEntry described(struct archive_entry* from) {
  ArchiveEntry entry;
  entry.kind = kind_of(from);
  const char* const name = ::archive_entry_pathname(from);
  entry.name = owned(name != nullptr ? name : ::archive_entry_pathname_utf8(from));
  entry.target = owned(entry.kind == ArchiveEntry::Kind::kHardLink ? ::archive_entry_hardlink(from)
                                                                   : ::archive_entry_symlink(from));
  entry.mode = static_cast<std::uint32_t>(::archive_entry_perm(from));
  if (::archive_entry_size_is_set(from) != 0) {
    const la_int64_t size = ::archive_entry_size(from);
    entry.size = size < 0 ? UINT64_MAX : static_cast<std::uint64_t>(size);
  }
  if (::archive_entry_mtime_is_set(from) != 0) {
    entry.modified = timespec{::archive_entry_mtime(from), ::archive_entry_mtime_nsec(from)};
  }
  return entry;
}

}  // namespace

Error bad_entry(std::string_view name, std::string_view why) {
  return {ErrorCode::kInvalid, "entry '" + printable(name) + "': " + std::string(why)};
}

Result<std::string> clean_entry_name(std::string_view name) {
  if (name.empty()) {
    return bad_entry("", "empty name");
  }
  if (name.size() > kLongestName) {
    return bad_entry(name.substr(0, 64), "name too long");
  }
  std::string clean;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      return bad_entry(name, "'..' in the name");
    }
    if (!part.empty() && part != ".") {
      clean += (clean.empty() ? "" : "/") + std::string(part);
    }
  }
  return clean;
}

void ArchiveReader::Deleter::operator()(struct archive* reader) const {
  (void)::archive_read_free(reader);
}

ArchiveReader::ArchiveReader(std::initializer_list<Form> forms, std::string_view attempt)
    : attempt_(attempt), source_(std::make_unique<Source>()), reader_(::archive_read_new()) {
  for (const Form form : forms) {
    (void)form(reader_.get());
  }
}

Result<ArchiveReader> ArchiveReader::open(int fd,
                                          std::initializer_list<Form> forms,
                                          std::string_view attempt) {
  ArchiveReader reader(forms, attempt);
  if (::archive_read_open_fd(reader.reader_.get(), fd, kReadAtOnce) < ARCHIVE_WARN) {
    return reader.failure();
  }
  return reader;
}

Result<ArchiveReader> ArchiveReader::open(Feed feed,
                                          std::initializer_list<Form> forms,
                                          std::string_view attempt) {
  ArchiveReader reader(forms, attempt);
  reader.source_->feed = std::move(feed);
  if (::archive_read_open(reader.reader_.get(), reader.source_.get(), nullptr, &ArchiveReader::feed,
                          nullptr) < ARCHIVE_WARN) {
    return reader.failure();
  }
  return reader;
}

std::int64_t ArchiveReader::feed(struct archive* reader, void* data, const void** bytes) {
  auto& source = *static_cast<Source*>(data);
  const auto piece = source.feed();
  if (!piece) {
    source.error = piece.error();
    ::archive_set_error(reader, EPIPE, "unexpected end of data");
    return -1;
  }
  *bytes = piece->data();
  return static_cast<std::int64_t>(piece->size());
}

Error ArchiveReader::failure(std::string_view name) const {
  if (source_->error) {
    return *source_->error;
  }
  const char* const text = ::archive_error_string(reader_.get());
  return {ErrorCode::kInvalid,
          attempt_ + ": " + (name.empty() ? "" : "entry '" + printable(name) + "': ") +
              (text != nullptr ? printable(text) : "not an archive that can be read")};
}

Result<bool> ArchiveReader::next(ArchiveEntry& entry) {
  struct archive_entry* found = nullptr;
  const int status = ::archive_read_next_header(reader_.get(), &found);
  if (status == ARCHIVE_EOF) {
    return false;
  }
  if (status < ARCHIVE_WARN) {
    return failure();
  }
  entry = described(found);
  name_ = entry.name;
  return true;
}

Result<bool> ArchiveReader::read_content(std::uint64_t longest,
                                         std::uint64_t& left,
                                         const Sink& sink) {
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = ::archive_read_data_block(reader_.get(), &block, &size, &offset);
    if (status == ARCHIVE_EOF) {
      return true;
    }
    if (status < ARCHIVE_WARN) {
      return failure(name_);
    }
    if (size > left || size > longest || offset < 0 ||
        static_cast<std::uint64_t>(offset) > longest - size) {
      return false;
    }
    left -= size;
    GB_TRY(sink(static_cast<std::uint64_t>(offset), {static_cast<const char*>(block), size}));
  }
}

Result<bool> ArchiveReader::copy_content(const ArchiveEntry& entry,
                                         int fd,
                                         std::uint64_t longest,
                                         std::uint64_t& left) {
  const auto cannot_write = [&entry] {
    return Error::from_errno("write '" + printable(entry.name) + "'");
  };
  const auto put = [&](std::uint64_t offset, std::string_view bytes) -> Result<void> {
    if (::lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0 || !sys::write_all(fd, bytes)) {
      return cannot_write();
    }
    return {};
  };
  if (!GB_TRY(read_content(longest, left, put)) || entry.size.value_or(0) > longest) {
    return false;
  }
  // A hole at the end is not a piece.
  if (entry.size && ::ftruncate(fd, static_cast<off_t>(*entry.size)) != 0) {
    return cannot_write();
  }
  return true;
}

}  // namespace glovebox
