// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon/whole_file.h"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp is not in <cstdlib>.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/sys/write_all.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "cli/daemon/transfer_line.h"

namespace glovebox::cli {

Result<void> write_whole_file(const std::string& place,
                              const std::function<Result<void>(int fd)>& write) {
  std::string draft = place + ".XXXXXX";
  const UniqueFd fd(::mkostemp(draft.data(), O_CLOEXEC));
  if (!fd) {
    return Error(ErrorCode::kInvalid,
                 Error::from_errno("write '" + printable(place) + "'").message(),
                 "choose a writable destination");
  }
  auto written = write(fd.get());
  const mode_t mask = ::umask(0);
  (void)::umask(mask);
  if (written &&
      (::fchmod(fd.get(), 0666 & ~mask) != 0 || ::rename(draft.c_str(), place.c_str()) != 0)) {
    written = Error::from_errno("write '" + printable(place) + "'");
  }
  if (!written) {
    (void)::unlink(draft.c_str());
  }
  return written;
}

Result<void> copy_body(http::ClientAnswer& answer,
                       int fd,
                       const std::function<Result<void>(std::uint64_t size)>& on_piece,
                       bool& cannot_write) {
  std::string piece(256UL * 1024, '\0');
  for (;;) {
    const std::size_t count = GB_TRY(answer.read(piece));
    if (count == 0) {
      return {};
    }
    GB_TRY(on_piece(count));
    if (!sys::write_all(fd, std::string_view(piece).substr(0, count))) {
      cannot_write = true;
      return Error::from_errno("write");
    }
  }
}

Result<void> save_body(http::ClientAnswer& answer, const std::string& place, bool shows_progress) {
  TransferLine line(shows_progress);
  const auto receive = [&](int fd) {
    bool cannot_write = false;
    return copy_body(
        answer, fd,
        [&line](std::uint64_t size) {
          line.add(size);
          return Result<void>();
        },
        cannot_write);
  };
  return place == "-" ? receive(STDOUT_FILENO) : write_whole_file(place, receive);
}

}  // namespace glovebox::cli
