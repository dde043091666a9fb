// SPDX-License-Identifier: Apache-2.0
// Tar archives, plain or gzip: how files travel in and out of sandboxes. Over libarchive.
//
// Archives may be hostile on both sides of the wall: what a user uploads can be anything, and what
// comes out of a sandbox is the guest's word.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct archive;

namespace glovebox {

// What an extraction may make.
struct TarRules {
  bool symlinks = false;        // Otherwise they are refused.
  std::uint64_t max_bytes = 0;  // Of content, over all files.
  std::size_t max_entries = 1'000'000;
  std::uint32_t mode_mask = 0777;
};

// Reads an archive from `input_fd` to its end and creates its directories and regular files below
// `directory_fd`, replacing files that are there. Refuses, naming the entry, and stops: absolute
// names, "..", hard links, devices, what would go through a link, what exceeds the rules.
// `made` is called with each regular file's name.
Result<void> extract_tar(int input_fd,
                         int directory_fd,
                         const TarRules& rules,
                         const std::function<void(std::string_view)>& made);

// Writes an archive to a descriptor, one entry after another.
class TarWriter {
 public:
  static Result<TarWriter> create(int output_fd);

  // Adds a regular file with the content of `fd` under `name`: exactly the size that it has now; a
  // file that grows meanwhile is cut, one that shrinks is filled with zeros.
  Result<void> add_file(const std::string& name, int fd);
  Result<void> add_directory(const std::string& name, std::uint32_t mode);
  Result<void> add_symlink(const std::string& name, const std::string& target);

  // Writes the end of the archive; without this call it has none.
  Result<void> finish();

 private:
  struct Deleter {
    void operator()(struct archive* writer) const;
  };
  explicit TarWriter(struct archive* writer) : writer_(writer) {}

  std::unique_ptr<struct archive, Deleter> writer_;
};

}  // namespace glovebox
