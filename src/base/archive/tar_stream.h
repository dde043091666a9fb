// SPDX-License-Identifier: Apache-2.0
// TarStream: a tar archive, entry by entry, in which the holes of sparse files take no room.
//
// POSIX's pax format (pax(1), "pax Interchange Format"), with sparse files as GNU tar 1.0 writes
// them ("Storing Sparse Files" in its manual). libarchive reads both; it cannot write a hole
// without being given all of its zeros.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox {

// A part of a file that holds data; everything between two of them is zeros.
struct Segment {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class TarStream {
 public:
  // Takes the next bytes of the archive. An error of it ends the archive.
  using Put = std::function<Result<void>(std::string_view)>;

  explicit TarStream(Put put) : put_(std::move(put)) {}

  Result<void> add_directory(const std::string& path, const struct stat& status);
  Result<void> add_link(const std::string& path,
                        const struct stat& status,
                        std::string_view target);
  // Adds the regular file `fd`, whose status is `status`: exactly the size and the data that it has
  // now. What it loses meanwhile becomes zeros. kInvalid for a file in too many pieces.
  Result<void> add_file(const std::string& path, const struct stat& status, int fd);
  // Adds another name of a file that was added.
  Result<void> add_hard_link(const std::string& path,
                             const struct stat& status,
                             std::string_view target);
  // Adds a file whose content the caller puts in pieces, after the first call and before the
  // second.
  Result<void> begin_file(const std::string& path, const struct stat& status);
  Result<void> end_file(const struct stat& status);
  // Writes the end of the archive; without this call it has none.
  Result<void> finish();

 private:
  struct Head;
  Result<void> put_head(const Head& head);
  Result<void> put_block(std::string_view name, char type, std::uint64_t size, const Head& head);
  Result<void> put_content(int fd, Segment segment);
  Result<void> fill_block(std::uint64_t size);

  Put put_;
  std::string piece_;
};

// The data of a file, in order; one segment if it has no holes, or cannot say.
Result<std::vector<Segment>> segments_of(int fd, const struct stat& status);

}  // namespace glovebox
