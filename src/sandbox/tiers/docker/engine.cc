// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "spec/json/bounded_json.h"

namespace glovebox::docker {
namespace {

namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMaxHead = 16 * 1024;
constexpr std::uint64_t kMaxBody = 4ULL << 20;
constexpr JsonBounds kJsonBounds{.values = 100'000, .depth = 32, .names_twice = true};
constexpr std::size_t kMaxMessage = 500;  // Of what the engine says went wrong.

// Of the API: what we speak of it is in all of these.
constexpr int kPreferredMinor = 41;

constexpr const char* kHint =
    "install Docker or Podman (on Debian: apt install docker.io) and start it, or set DOCKER_HOST "
    "to its socket, such as unix:///run/docker.sock";

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<std::string> find_socket() {
  if (const std::string named = variable("DOCKER_HOST"); !named.empty()) {
    constexpr std::string_view kUnix = "unix://";
    if (!named.starts_with(kUnix) || !named.substr(kUnix.size()).starts_with('/')) {
      return Error(ErrorCode::kUnsupported,
                   "DOCKER_HOST names no Unix socket: '" + printable(named) + "'",
                   "use an engine on this machine, such as unix:///run/docker.sock");
    }
    return named.substr(kUnix.size());
  }
  std::vector<std::string> places = {"/run/docker.sock", "/var/run/docker.sock",
                                     "/run/podman/podman.sock"};
  if (const std::string own = variable("XDG_RUNTIME_DIR"); own.starts_with('/')) {
    places.push_back(own + "/docker.sock");
    places.push_back(own + "/podman/podman.sock");
  }
  std::optional<std::string> closed;
  for (const std::string& place : places) {
    if (::access(place.c_str(), R_OK | W_OK) == 0) {
      return place;
    }
    if (errno == EACCES && !closed) {
      closed = place;
    }
  }
  if (closed) {
    return Error(ErrorCode::kUnsupported, "you may not use the container engine at " + *closed,
                 "join the group of that socket (it makes you as powerful as root), or run a "
                 "rootless engine");
  }
  return Error(ErrorCode::kUnsupported, "no container engine was found", kHint);
}

Error no_answer(const std::string& socket, std::string_view why) {
  return {ErrorCode::kUnavailable,
          "the container engine at " + socket + " does not answer: " + std::string(why),
          "see whether it runs, for instance with 'docker version'"};
}

Result<UniqueFd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error(ErrorCode::kUnsupported, "the path of the container engine's socket is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) {
    return Error::from_errno("socket");
  }
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error(ErrorCode::kUnsupported,
                 Error::from_errno("connect to the container engine at " + path).message(), kHint);
  }
  return socket;
}

// Whether the engine that listens there is root's.
Result<bool> is_of_root(const std::string& path) {
  const UniqueFd socket = GB_TRY(connect_to(path));
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Error::from_errno("look for the user of the container engine");
  }
  return peer.uid == 0;
}

// Waits until the socket is ready; false at the deadline.
bool await(const UniqueFd& socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd polled{socket.get(), events, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) {
      return true;
    }
    if (ready == 0 || errno != EINTR) {
      return false;
    }
  }
}

bool send_all(const UniqueFd& socket, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR && (errno != EAGAIN || !await(socket, POLLOUT, deadline))) {
      return false;
    }
  }
  return true;
}

// The answer, or why there is none.
Result<Answer> receive(const UniqueFd& socket, Clock::time_point deadline) {
  http::parser<false, http::string_body> parser;
  parser.header_limit(kMaxHead);
  parser.body_limit(kMaxBody);
  parser.eager(true);
  std::string pending;
  std::uint64_t received = 0;
  std::array<char, 16 * 1024> block{};
  boost::beast::error_code error;
  while (!parser.is_done()) {
    const ssize_t got = ::recv(socket.get(), block.data(), block.size(), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN && await(socket, POLLIN, deadline)) {
      continue;
    }
    if (got < 0) {
      return Error(ErrorCode::kUnavailable, errno == EAGAIN ? "no answer in time" : "it hung up");
    }
    if (got == 0) {
      parser.put_eof(error);
      if (error || !parser.is_done()) {
        return Error(ErrorCode::kUnavailable, "its answer breaks off");
      }
      break;
    }
    pending.append(block.data(), static_cast<std::size_t>(got));
    // The parser's own limit does not hold for a length that was announced.
    received += static_cast<std::uint64_t>(got);
    if (received > kMaxHead + kMaxBody) {
      return Error(ErrorCode::kUnavailable, "its answer is too long");
    }
    for (std::size_t used = 1; used > 0 && !pending.empty() && !parser.is_done();) {
      used = parser.put(boost::asio::buffer(pending.data(), pending.size()), error);
      pending.erase(0, used);
      if (error && error != http::error::need_more) {
        return Error(ErrorCode::kUnavailable, "it does not speak HTTP: " + error.message());
      }
    }
  }
  return Answer{.status = static_cast<int>(parser.get().result_int()),
                .body = std::move(parser.get().body()),
                .server = std::string(parser.get()[http::field::server])};
}

int minor_of(const nlohmann::json& version, const char* key) {
  const std::string text = text_of(version, key);
  int minor = 0;
  if (text.starts_with("1.")) {
    (void)std::from_chars(text.data() + 2, text.data() + text.size(), minor);
  }
  return minor;
}

}  // namespace

Result<Engine> Engine::at(std::string socket) {
  Engine engine(std::move(socket));
  GB_TRY(engine.get_to_know());
  return engine;
}

Result<Engine> Engine::find() {
  static std::mutex mutex;
  static std::optional<Engine> known;
  const std::string socket = GB_TRY(find_socket());
  const std::scoped_lock lock(mutex);
  if (!known || known->socket() != socket) {
    known = GB_TRY(at(socket));
  }
  return *known;
}

Result<void> Engine::get_to_know() {
  is_podman_ = GB_TRY(ask("GET", "/_ping")).server.starts_with("Libpod/");
  if (is_podman_) {
    // To tell its version and more, it starts programs, which takes a second.
    version_ = "/v1." + std::to_string(kPreferredMinor);
    maps_ids_ = !GB_TRY(is_of_root(socket_));
    return {};
  }
  const auto version = GB_TRY(json_of(GB_TRY(ask("GET", "/version"))));
  const int most = minor_of(version, "ApiVersion");
  const int least = minor_of(version, "MinAPIVersion");
  version_ = "/v1." + std::to_string(std::max(least, std::min(most, kPreferredMinor)));
  const auto info = GB_TRY(json_of(GB_TRY(ask("GET", "/info"))));
  if (const std::string kind = text_of(info, "OSType"); !kind.empty() && kind != "linux") {
    return Error(ErrorCode::kUnsupported,
                 "the container engine at " + socket_ + " does not run Linux containers");
  }
  default_runtime_ = text_of(info, "DefaultRuntime");
  if (const auto options = info.find("SecurityOptions");
      options != info.end() && options->is_array()) {
    for (const auto& option : *options) {
      const std::string text = option.is_string() ? option.get<std::string>() : "";
      maps_ids_ = maps_ids_ || text == "name=userns" || text == "name=rootless" ||
                  text.starts_with("name=rootless,") || text.starts_with("name=userns,");
    }
  }
  return {};
}

Result<Answer> Engine::ask(std::string_view method,
                           std::string_view path,
                           std::string_view body,
                           std::string_view type,
                           std::chrono::seconds patience) const {
  const auto deadline = Clock::now() + patience;
  const UniqueFd socket = GB_TRY(connect_to(socket_));
  std::string request;
  request.append(method).append(" ").append(version_).append(path).append(" HTTP/1.1\r\n");
  request.append("Host: docker\r\nConnection: close\r\n");
  if (!body.empty()) {
    request.append("Content-Type: ").append(type).append("\r\n");
  }
  request.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
  request.append(body);
  if (!send_all(socket, request, deadline)) {
    return no_answer(socket_, "it takes no request");
  }
  auto answer = receive(socket, deadline);
  return answer ? std::move(answer) : no_answer(socket_, answer.error().message());
}

Error refusal(std::string_view attempt, const Answer& answer) {
  std::string said;
  if (const auto json = json_of(answer)) {
    said = text_of(*json, "message");
  }
  if (said.size() > kMaxMessage) {
    said.resize(kMaxMessage);
  }
  const ErrorCode code = answer.status == 404   ? ErrorCode::kUnsupported
                         : answer.status == 400 ? ErrorCode::kUnsupported
                         : answer.status == 409 ? ErrorCode::kConflict
                                                : ErrorCode::kUnavailable;
  return {code, std::string(attempt) + ": the container engine says " +
                    std::to_string(answer.status) + " " + printable(said)};
}

Result<nlohmann::json> json_of(const Answer& answer) {
  auto json = parse_json(answer.body, kJsonBounds);
  if (!json || !json->is_object()) {
    return Error(ErrorCode::kUnavailable, "the container engine's answer is not a JSON object");
  }
  return json;
}

std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_true(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

const nlohmann::json& object_of(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNone = nlohmann::json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : kNone;
}

}  // namespace glovebox::docker
