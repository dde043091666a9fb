// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/connect.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "doors/transport/blocking.h"
#include "doors/transport/tls.h"

namespace glovebox::http {
namespace {

constexpr std::size_t kMostUrl = 2'048;

Error bad_url(std::string_view url) {
  return {ErrorCode::kInvalid, "invalid daemon address '" + printable(url) + "'",
          "use http://HOST:PORT, https://HOST:PORT or unix:PATH"};
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether the text may appear in a header as it is.
bool is_plain_host(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '%';
  });
}

Error nobody_at(const std::string& where, int reason) {
  const bool denied = reason == EACCES || reason == EPERM;
  return {denied ? ErrorCode::kRefused : ErrorCode::kUnavailable,
          "cannot reach a daemon at " + printable(where) + ": " +
              Error::from_errno("connect", reason).message(),
          denied ? "only root and the user who runs the daemon can use its socket; otherwise use "
                   "--url http://HOST:PORT and a key"
                 : "start one with 'glovebox serve', or choose another with --url"};
}

Result<UniqueFd> connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error(ErrorCode::kInvalid, "the socket path is too long: " + printable(path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return nobody_at("unix:" + path, errno);
  }
  return fd;
}

// 0, or why the connection did not come about in time.
int finish_connecting(int fd, std::chrono::milliseconds patience) {
  pollfd watched{.fd = fd, .events = POLLOUT, .revents = 0};
  if (::poll(&watched, 1, static_cast<int>(patience.count())) != 1) {
    return ETIMEDOUT;
  }
  int reason = 0;
  socklen_t size = sizeof reason;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 ? reason : errno;
}

Result<UniqueFd> connect_tcp(const ServerAddress& server, std::chrono::milliseconds patience) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int answer = ::getaddrinfo(server.host.c_str(), server.port.c_str(), &wanted, &found);
  if (answer != 0) {
    return Error(ErrorCode::kUnavailable,
                 "resolve " + printable(server.host) + ": " + ::gai_strerror(answer),
                 "check the host name in --url");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  int reason = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    UniqueFd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
    if (!fd) {
      reason = errno;
      continue;
    }
    reason = ::connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
    if (reason == EINPROGRESS) {
      reason = finish_connecting(fd.get(), patience);
    }
    if (reason == 0) {
      const int on = 1;
      (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return fd;
    }
  }
  return nobody_at(server.authority(), reason);
}

}  // namespace

std::string ServerAddress::authority() const {
  if (kind == Kind::kUnix) {
    return "localhost";
  }
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

Result<ServerAddress> parse_server_address(std::string_view url) {
  const std::string_view whole = url;
  ServerAddress server;
  if (url.size() > kMostUrl) {
    return bad_url(url.substr(0, 64));
  }
  if (url.starts_with("unix:")) {
    url.remove_prefix(url.starts_with("unix://") ? 7 : 5);
    server.kind = ServerAddress::Kind::kUnix;
    server.path = url;
    return server.path.empty() ? Result<ServerAddress>(bad_url(whole)) : server;
  }
  if (url.starts_with("https://")) {
    server.kind = ServerAddress::Kind::kTls;
    server.port = "443";
    url.remove_prefix(8);
  } else if (url.starts_with("http://")) {
    server.port = "80";
    url.remove_prefix(7);
  } else {
    return bad_url(whole);
  }
  if (url.ends_with('/')) {
    url.remove_suffix(1);
  }
  const std::size_t bracket = url.starts_with('[') ? url.find(']') : 0;
  if (bracket == std::string_view::npos) {
    return bad_url(whole);
  }
  if (const std::size_t colon = url.find(':', bracket); colon != std::string_view::npos) {
    server.port = url.substr(colon + 1);
    url = url.substr(0, colon);
  }
  server.host = bracket > 0 ? url.substr(1, bracket - 1) : url;
  if (!is_port(server.port) || !is_plain_host(server.host) ||
      (bracket > 0 && url.size() != bracket + 1)) {
    return bad_url(whole);
  }
  return server;
}

Result<std::unique_ptr<Channel>> connect_channel(const ServerAddress& server,
                                                 const std::string& authorities,
                                                 std::chrono::milliseconds patience) {
  const bool local = server.kind == ServerAddress::Kind::kUnix;
  UniqueFd fd = GB_TRY(local ? connect_unix(server.path) : connect_tcp(server, patience));
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0) {
    return Error::from_errno("fcntl");
  }
  if (server.kind != ServerAddress::Kind::kTls) {
    return plain_channel(std::move(fd));
  }
  auto channel = GB_TRY(tls_client_channel(std::move(fd), server.host, authorities));
  while (true) {
    const Channel::Outcome outcome = channel->handshake();
    if (outcome.status == Channel::Status::kDone) {
      return channel;
    }
    if (outcome.status != Channel::Status::kWantRead &&
        outcome.status != Channel::Status::kWantWrite) {
      return tls_failure(*channel, server.authority());
    }
    if (!await(*channel, outcome.status, patience)) {
      return Error(ErrorCode::kUnavailable, "no TLS response from " + server.authority());
    }
  }
}

}  // namespace glovebox::http
