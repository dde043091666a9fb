// SPDX-License-Identifier: Apache-2.0
// The files of a journal: segments, named by the number of their first record, and lines in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::audit {

// "00000000000000000001.jsonl" for 1.
[[nodiscard]] std::string segment_name(std::uint64_t first);

// The numbers of the first records of all segments, in order. Other files are left out.
Result<std::vector<std::uint64_t>> list_segments(int directory);

// Opens a file, which must be a regular one, without following a link or ever waiting.
Result<UniqueFd> open_regular(int directory, const std::string& name, int flags);

// Replaces or makes a file with this text, atomically; it is on the disk when this returns.
Result<void> replace_file(int directory,
                          const std::string& name,
                          std::string_view text,
                          unsigned mode);

// The directory of a journal. kNotFound if there is none.
Result<UniqueFd> open_directory(const std::string& path);

// Where the file ends without its trailing zeros, which are room for records; at least `from`.
Result<std::uint64_t> written_end(int file, std::uint64_t from);

// Reads the lines of a file, from its beginning or from an offset that is the beginning of a line,
// holding at most one line and one block at a time. It takes a zero byte for the file's end.
class LineReader {
 public:
  explicit LineReader(UniqueFd file, std::uint64_t offset = 0)
      : file_(std::move(file)), offset_(offset), end_(offset) {}

  struct Line {
    std::string_view text{};   // Without its line break; until the next call.
    std::uint64_t offset = 0;  // Of its first byte.
    bool whole = true;         // False: the file ended, or the bound was reached, before the break.
  };
  // Nothing at the end of the file. A line beyond kMostLine comes in pieces that are not whole.
  Result<std::optional<Line>> next();
  // The offset after the last line that it returned.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  UniqueFd file_;
  std::string held_;
  std::size_t at_ = 0;        // In `held_`, the start of what was not returned yet.
  std::uint64_t offset_ = 0;  // Of held_[at_] in the file.
  std::uint64_t end_ = 0;     // The offset up to which the file was read.
  bool ended_ = false;
};

}  // namespace glovebox::audit
