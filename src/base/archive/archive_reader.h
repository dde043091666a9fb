// SPDX-License-Identifier: Apache-2.0
// ArchiveReader: walks an archive entry by entry, over libarchive. Everything that unpacks goes
// through it; the caller decides what becomes of each entry, and where.
//
// Archives may be hostile: names lead anywhere, sizes lie, content never ends.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct archive;

namespace glovebox {

struct ArchiveEntry {
  enum class Kind { kFile, kDirectory, kSymlink, kHardLink, kOther };
  Kind kind = Kind::kOther;
  std::string name;        // As the archive has it; may be empty.
  std::string target;      // Of a link; may be empty.
  std::uint32_t mode = 0;  // Permissions, also set-id bits.
  // As the archive says, if it does. A negative size becomes the greatest number.
  std::optional<std::uint64_t> size;
  std::optional<timespec> modified;
};

// "entry 'NAME': WHY", kInvalid.
Error bad_entry(std::string_view name, std::string_view why);

// The name without slashes at its ends, doubled slashes and "."; empty for the directory itself.
// The leading slash of an absolute name is dropped: a caller that refuses such names must check
// first. kInvalid for a name that is empty or too long, or has a "..".
Result<std::string> clean_entry_name(std::string_view name);

class ArchiveReader {
 public:
  // A form that the archive may have, as a function of libarchive (archive_read_support_…). The
  // caller names the forms, so that a static program links no more than it reads.
  using Form = int (*)(struct archive*);
  // The next bytes, valid until the next call; empty at the end.
  using Feed = std::function<Result<std::string_view>()>;
  // Takes the content at an offset. Offsets only grow; between two pieces are zeros.
  using Sink = std::function<Result<void>(std::uint64_t offset, std::string_view bytes)>;

  // `attempt`, such as "read archive", goes in front of libarchive's complaints. Those errors are
  // kInvalid; an error of the feed comes back as it is.
  static Result<ArchiveReader> open(int fd,
                                    std::initializer_list<Form> forms,
                                    std::string_view attempt);
  static Result<ArchiveReader> open(Feed feed,
                                    std::initializer_list<Form> forms,
                                    std::string_view attempt);

  // Goes to the next entry; false at the end.
  Result<bool> next(ArchiveEntry& entry);

  // Reads the content of the entry that next() gave. `left` is how many bytes may still come, of
  // this entry and those after it; what is read is subtracted from it. False, with the rest unread,
  // if `left` is too small or a piece would end beyond `longest`.
  Result<bool> read_content(std::uint64_t longest, std::uint64_t& left, const Sink& sink);

  // The same, into an empty file, which gets the size of the entry: `longest` bounds a hole at its
  // end, too. An error with an os_error() is a failure to write.
  Result<bool> copy_content(const ArchiveEntry& entry,
                            int fd,
                            std::uint64_t longest,
                            std::uint64_t& left);

 private:
  struct Source {
    Feed feed;
    std::optional<Error> error;
  };
  struct Deleter {
    void operator()(struct archive* reader) const;
  };

  ArchiveReader(std::initializer_list<Form> forms, std::string_view attempt);
  static std::int64_t feed(struct archive* reader, void* data, const void** bytes);
  Error failure(std::string_view name = {}) const;

  std::string attempt_;
  std::unique_ptr<Source> source_;  // Outlives the reader, which has its address.
  std::unique_ptr<struct archive, Deleter> reader_;
  std::string name_;  // Of the entry that next() gave.
};

}  // namespace glovebox
