// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "doors/transport/occupant.h"
#include "embed/handshake.h"

namespace glovebox::http {
namespace {

constexpr int kBacklog = 4'096;

std::uint16_t port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port)
             : std::uint16_t{0};
}

struct Somebody {
  bool listens = false;
  std::optional<pid_t> process{};  // If it is known.
};

Somebody find_somebody(const sockaddr_un& address) {
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {.listens = errno == EAGAIN};
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  return {.listens = true, .process = known ? std::optional(peer.pid) : std::nullopt};
}

// getaddrinfo(3) takes larger numbers, and truncates them.
std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && rest == text.data() + text.size() ? std::optional(port)
                                                                   : std::nullopt;
}

// One end of a pair of stream sockets, or none with errno.
UniqueFd receive_connection(int fd) {
  auto packet = embed::receive_packet(fd);
  if (!packet) {
    errno = packet.error().os_error() != 0 ? packet.error().os_error() : EPIPE;
    return {};
  }
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof domain;
  const int connection = packet->descriptor.get();
  if (::getsockopt(connection, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::getsockopt(connection, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || domain != AF_UNIX ||
      type != SOCK_STREAM ||
      ::fcntl(connection, F_SETFL, ::fcntl(connection, F_GETFL) | O_NONBLOCK) != 0) {
    errno = ECONNABORTED;
    return {};
  }
  return std::move(packet->descriptor);
}

constexpr const char* kForms =
    "for example 127.0.0.1:8440, [::1]:8440, 0.0.0.0:8440 for every address of this machine, or '' "
    "for none";

}  // namespace

Result<void> check_unix_path(const std::string& path) {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (path.size() > kMost) {
    return Error(ErrorCode::kInvalid,
                 "the path of the Unix socket is too long: " + std::to_string(path.size()) +
                     " bytes, and the kernel allows " + std::to_string(kMost) + ": " + path,
                 "pass a shorter one with --unix, or '' for none");
  }
  return {};
}

Result<Address> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) {
    return Error(ErrorCode::kInvalid, "'" + text + "' is not of the form HOST:PORT", kForms);
  }
  const auto port = parse_port(std::string_view(text).substr(colon + 1));
  if (!port) {
    return Error(ErrorCode::kInvalid, "invalid port in '" + text + "'",
                 "use a number from 0 to 65535; 0 picks a free port");
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return Address{.host = std::move(host), .port = *port};
}

Result<Listener> listen_tcp(const std::string& address) {
  const auto [host, port] = GB_TRY(parse_address(address));
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int answer = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                   std::to_string(port).c_str(), &wanted, &found);
  if (answer != 0) {
    return Error(ErrorCode::kInvalid, "listen on " + address + ": " + ::gai_strerror(answer),
                 kForms);
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  const int on = 1;
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    const bool in_use = errno == EADDRINUSE;
    auto failed = Error::from_errno("listen on " + address);
    return in_use ? std::move(failed).with_hint(occupied_hint(listener_of_port(port))) : failed;
  }
  Listener listener;
  listener.port = port_of(fd.get());
  listener.fd = std::move(fd);
  return listener;
}

Result<Listener> listen_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  GB_TRY(check_unix_path(path));
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) {
    if (const Somebody somebody = find_somebody(address); somebody.listens) {
      return Error(ErrorCode::kConflict, "another program is listening on " + path,
                   occupied_hint(somebody.process));
    }
    (void)::unlink(path.c_str());
  }
  // Nobody can connect before listen(2), so the mode holds from the first connection on.
  if (!fd || ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return Error::from_errno("listen on " + path);
  }
  Listener listener;
  listener.fd = std::move(fd);
  listener.unix_socket = true;
  listener.path = path;
  return listener;
}

Result<Listener> adopt_listener(UniqueFd fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  int domain = 0;
  socklen_t domain_size = sizeof domain;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 || listening == 0) {
    return Error(ErrorCode::kInvalid, "an inherited file descriptor is not a listening socket");
  }
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0 ||
      ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return Error::from_errno("fcntl");
  }
  Listener listener;
  listener.unix_socket = domain == AF_UNIX;
  listener.port = port_of(fd.get());
  listener.fd = std::move(fd);
  return listener;
}

Result<Listener> adopt_passing_socket(UniqueFd fd) {
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0 ||
      ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
    return Error::from_errno("use the socket that passes connections");
  }
  Listener listener;
  listener.unix_socket = true;
  listener.passes = true;
  listener.fd = std::move(fd);
  return listener;
}

UniqueFd accept_connection(const Listener& listener, sockaddr_storage& from) {
  if (listener.passes) {
    from.ss_family = AF_UNIX;
    return receive_connection(listener.fd.get());
  }
  socklen_t size = sizeof from;
  return UniqueFd(::accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&from), &size,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool is_peer_ours(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

}  // namespace glovebox::http
