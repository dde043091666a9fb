// SPDX-License-Identifier: Apache-2.0
#include "cli/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/bytes.h"
#include "base/text.h"

namespace glovebox::cli {
namespace {

std::string shown(const std::string& path) {
  return path == kStandardInput ? "standard input" : "'" + printable(path) + "'";
}

Error cannot(const char* what, const std::string& path) {
  return {ErrorCode::kInvalid, Error::from_errno(what + shown(path)).message(),
          "check the path and its permissions"};
}

}  // namespace

Result<UniqueFd> open_input(const std::string& path) {
  UniqueFd fd(path == kStandardInput ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                     : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return cannot("cannot open ", path);
  }
  if (S_ISDIR(status.st_mode)) {
    return Error(ErrorCode::kInvalid, shown(path) + " is a directory", "pass a file");
  }
  return fd;
}

Result<std::string> read_whole_input(int fd,
                                     const std::string& path,
                                     std::size_t most,
                                     const std::string& hint) {
  std::string bytes;
  std::array<char, 64 * 1024> block;
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return cannot("cannot read ", path);
    }
    if (got == 0) {
      return bytes;
    }
    bytes.append(block.data(), static_cast<std::size_t>(got));
    if (bytes.size() > most) {
      return Error(ErrorCode::kInvalid, shown(path) + " is larger than " + to_string(Bytes{most}),
                   hint);
    }
  }
}

Result<std::string> read_whole_input(const std::string& path,
                                     std::size_t most,
                                     const std::string& hint) {
  const UniqueFd fd = GB_TRY(open_input(path));
  return read_whole_input(fd.get(), path, most, hint);
}

}  // namespace glovebox::cli
