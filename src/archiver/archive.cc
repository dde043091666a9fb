// SPDX-License-Identifier: Apache-2.0
#include "archiver/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>
#include <string>

#include "base/archive/tar.h"
#include "base/sys/beneath.h"

namespace glovebox::archiver {
namespace {

// The warden lists no more than this (FilesReport, and what it walks).
constexpr std::size_t kMaxNames = 64U << 20;

Result<std::string> read_all(int fd) {
  std::string all;
  std::array<char, 64 * 1024> bytes;
  for (;;) {
    const ssize_t got = ::read(fd, bytes.data(), bytes.size());
    if (got == 0) {
      return all;
    }
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error::from_errno("read the list of names");
    }
    all.append(bytes.data(), static_cast<std::size_t>(got));
    if (all.size() > kMaxNames) {
      return Error(ErrorCode::kInvalid, "too many names");
    }
  }
}

Result<void> add(int root_fd, TarWriter& writer, const std::string& path, std::uint64_t& left) {
  const auto file = sys::open_beneath(root_fd, path, O_RDONLY);
  struct stat status {};
  if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > left) {
    return {};  // Gone or swapped since it was listed, or too large.
  }
  left -= static_cast<std::uint64_t>(status.st_size);
  return writer.add_file(path, file->get());
}

}  // namespace

Result<void> unpack(int root_fd, std::string_view directory, int input_fd) {
  // Links may point anywhere: inside, they give a guest nothing that it does not have. The file
  // system limits the total size.
  constexpr TarRules kRules{.symlinks = true,
                            .max_bytes = std::numeric_limits<std::int64_t>::max()};
  if (directory.empty()) {
    return extract_tar(input_fd, root_fd, kRules, nullptr);
  }
  GB_TRY(sys::make_parents_beneath(root_fd, std::string(directory) + "/"));
  const UniqueFd target = GB_TRY(sys::open_beneath(root_fd, directory, O_RDONLY | O_DIRECTORY));
  return extract_tar(input_fd, target.get(), kRules, nullptr);
}

Result<void> unpack_image(int directory_fd, const UnpackBounds& bounds, int input_fd) {
  const TarRules rules{.symlinks = false,
                       .max_bytes = bounds.bytes,
                       .max_entries = bounds.entries,
                       .mode_mask = 0600};
  return extract_tar(input_fd, directory_fd, rules, nullptr);
}

Result<void> pack(int root_fd, std::uint64_t max_bytes, int names_fd, int output_fd) {
  const std::string names = GB_TRY(read_all(names_fd));
  TarWriter writer = GB_TRY(TarWriter::create(output_fd));
  std::uint64_t left = max_bytes;
  for (std::size_t at = 0; at < names.size();) {
    const std::string path(names.c_str() + at);
    at += path.size() + 1;
    GB_TRY(add(root_fd, writer, path, left));
  }
  return writer.finish();
}

}  // namespace glovebox::archiver
