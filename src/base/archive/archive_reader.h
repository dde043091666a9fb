// SPDX-License-Identifier: Apache-2.0
// ArchiveReader: walks an archive entry by entry, over libarchive. All that unpacks goes through
// it; what becomes of an entry, and where, is for its caller to say.
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
  // As the archive says, if it does. A negative one is the greatest number.
  std::optional<std::uint64_t> size;
  std::optional<timespec> modified;
};

// "entry 'NAME': WHY", kInvalid.
Error bad_entry(std::string_view name, std::string_view why);

// The name without slashes at its ends, doubled ones, and "."; empty for the directory itself. What
// an absolute one has in front is dropped: who refuses those looks before. kInvalid for one that is
// empty or too long, or has a "..".
Result<std::string> clean_entry_name(std::string_view name);

class ArchiveReader {
 public:
  // What the archive may be, as the functions of libarchive say it (archive_read_support_…): given
  // by the caller, so that a static program links no more than it reads.
  using Form = int (*)(struct archive*);
  // The next bytes, valid until the next call; empty at the end.
  using Feed = std::function<Result<std::string_view>()>;
  // Takes content that belongs at an offset, which only grows; between two pieces are zeros.
  using Sink = std::function<Result<void>(std::uint64_t offset, std::string_view bytes)>;

  // `attempt` stands in front of what libarchive complains about: "read archive". Those errors are
  // kInvalid; what a feed fails with comes back as it is.
  static Result<ArchiveReader> open(int fd,
                                    std::initializer_list<Form> forms,
                                    std::string_view attempt);
  static Result<ArchiveReader> open(Feed feed,
                                    std::initializer_list<Form> forms,
                                    std::string_view attempt);

  // Goes to the next entry; false at the end.
  Result<bool> next(ArchiveEntry& entry);

  // The content of the entry that next() gave. `left` is what may still come, of this entry and of
  // those after it: what comes is taken from it. False, and the rest is not read, where that is too
  // little or a piece would end beyond `longest`.
  Result<bool> read_content(std::uint64_t longest, std::uint64_t& left, const Sink& sink);

  // The same, into an empty file, which gets the size that the entry has: also a hole at its end is
  // bounded by `longest`. An error with an os_error() is one of writing.
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
