// SPDX-License-Identifier: Apache-2.0
#include "base/sys/wait_set.h"

#include <sys/epoll.h>

#include <cstdint>

namespace glovebox::sys {
namespace {

// Hanging up is always reported (epoll_ctl(2)).
bool add(int set, int fd, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<UniqueFd> readable_with(std::span<const int> fds, std::span<const int> only_ends) {
  UniqueFd set(::epoll_create1(EPOLL_CLOEXEC));
  bool whole = static_cast<bool>(set);
  for (const int fd : fds) {
    whole = whole && add(set.get(), fd, EPOLLIN | EPOLLRDHUP);
  }
  for (const int fd : only_ends) {
    whole = whole && add(set.get(), fd, EPOLLRDHUP);
  }
  if (!whole) {
    return Error::from_errno("wait for several descriptors");
  }
  return set;
}

}  // namespace glovebox::sys
