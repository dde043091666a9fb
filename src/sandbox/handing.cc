// SPDX-License-Identifier: Apache-2.0
#include "sandbox/handing.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/sys/descriptors.h"

namespace glovebox {

Result<Handing> Handing::open() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  Handing handing;
  handing.ours_ = UniqueFd(ends[0]);
  handing.theirs_ = UniqueFd(ends[1]);
  return handing;
}

std::vector<UniqueFd> Handing::receive() {
  close_inner();
  std::array<char, 1> byte{};
  std::vector<UniqueFd> passed;
  ssize_t got = 0;
  do {
    got = sys::receive_with(ours_.get(), byte, passed, 0);
  } while (got < 0 && errno == EINTR);
  return passed;
}

WayOut WayOut::from(Handing& handing) {
  std::vector<UniqueFd> passed = handing.receive();
  return passed.size() == 2
             ? WayOut{.listener = std::move(passed[0]), .names = std::move(passed[1])}
             : WayOut{};
}

}  // namespace glovebox
