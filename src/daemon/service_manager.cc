// SPDX-License-Identifier: Apache-2.0
#include "daemon/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.h"

namespace glovebox {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
constexpr int kMost = 64;

// NOLINTBEGIN(concurrency-mt-unsafe): the environment is changed before any thread exists.
int take_number(const char* name) {
  const char* const text = std::getenv(name);
  int number = 0;
  if (text != nullptr) {
    const char* const end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, number);
    number = parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
  }
  (void)::unsetenv(name);
  return number;
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace

std::vector<int> take_inherited_sockets() {
  const int pid = take_number("LISTEN_PID");
  const int count = take_number("LISTEN_FDS");
  (void)take_number("LISTEN_FDNAMES");
  std::vector<int> sockets;
  if (pid == ::getpid()) {
    for (int fd = kFirst; fd < kFirst + count && fd < kFirst + kMost; ++fd) {
      sockets.push_back(fd);
    }
  }
  return sockets;
}

void tell_service_manager(std::string_view state) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes this variable.
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || (*path != '/' && *path != '@') ||
      std::strlen(path) >= sizeof address.sun_path) {
    return;
  }
  std::memcpy(address.sun_path, path, std::strlen(path));
  if (*path == '@') {
    address.sun_path[0] = '\0';  // An abstract name (unix(7)).
  }
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  (void)::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace glovebox
