// SPDX-License-Identifier: Apache-2.0
#include "files/server/connect.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "files/server/place.h"

namespace glovebox::files {
namespace {

// If a listener accepts nobody, its queue fills up, and connecting waits.
constexpr int kPatienceMs = 10'000;

Result<UniqueFd> connect_by(const sockaddr* address, socklen_t size) {
  UniqueFd made(
      ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!made) {
    return errno == EAFNOSUPPORT
               ? Error(ErrorCode::kUnsupported, "this tier has no network inside the sandbox")
               : file_error("create a socket");
  }
  if (::connect(made.get(), address, size) != 0) {
    if (errno != EINPROGRESS) {
      return file_error("connect");
    }
    pollfd polled{made.get(), POLLOUT, 0};
    if (::poll(&polled, 1, kPatienceMs) != 1) {
      return file_error("connect", ETIMEDOUT);
    }
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0) {
      return file_error("connect", error);
    }
  }
  (void)::fcntl(made.get(), F_SETFL, 0);
  return made;
}

}  // namespace

Result<UniqueFd> connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto made = connect_by(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (made || made.error().code() != ErrorCode::kUnavailable) {
    return made;
  }
  sockaddr_in6 other{};
  other.sin6_family = AF_INET6;
  other.sin6_port = address.sin_port;
  other.sin6_addr = IN6ADDR_LOOPBACK_INIT;
  auto second = connect_by(reinterpret_cast<const sockaddr*>(&other), sizeof other);
  return second ? std::move(second) : std::move(made);
}

}  // namespace glovebox::files
