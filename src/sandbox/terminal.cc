// SPDX-License-Identifier: Apache-2.0
#include "sandbox/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace glovebox {

Result<TerminalEnds> open_terminal(warden::TerminalSize size) {
  TerminalEnds ends{.ours = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)),
                    .theirs = {}};
  int unlocked = 0;
  if (!ends.ours || ::ioctl(ends.ours.get(), TIOCSPTLCK, &unlocked) != 0) {
    return Error::from_errno("open a terminal");
  }
  ends.theirs = UniqueFd(::ioctl(ends.ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ends.theirs) {
    return Error::from_errno("open a terminal");
  }
  GB_TRY(resize_terminal(ends.ours, size));
  return ends;
}

Result<void> resize_terminal(const UniqueFd& ours, warden::TerminalSize size) {
  const winsize wanted{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  return ::ioctl(ours.get(), TIOCSWINSZ, &wanted) == 0 ? Result<void>()
                                                       : Error::from_errno("resize a terminal");
}

Result<TerminalEnds> connect_terminal() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return Error::from_errno("open a terminal");
  }
  return TerminalEnds{.ours = UniqueFd(ends[0]), .theirs = UniqueFd(ends[1])};
}

}  // namespace glovebox
