// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/entrance.h"

#include <charconv>
#include <chrono>
#include <utility>

namespace glovebox::e2b {
namespace {

bool shows(const http::Request& request, const char* header, const std::string& secret) {
  return equal_secrets(request.header(header).value_or(""), secret);
}

bool shows_access_token(const http::Request& request, const SandboxNotes& notes) {
  return shows(request, "X-Access-Token", notes.access_token);
}

bool shows_traffic_token(const http::Request& request, const SandboxNotes& notes) {
  return shows(request, "E2B-Traffic-Access-Token", notes.traffic_token);
}

Entrance shown() { return {.pass = Pass::kShown, .objection = {}}; }
Entrance open() { return {.pass = Pass::kPublic, .objection = {}}; }
Entrance refused(int status, std::string message) {
  return {.pass = Pass::kPublic,
          .objection = Objection{.status = status, .message = std::move(message)}};
}

bool is_over(const std::string& expiration) {
  std::int64_t seconds = 0;
  const auto [end, failure] =
      std::from_chars(expiration.data(), expiration.data() + expiration.size(), seconds);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return failure != std::errc{} || end != expiration.data() + expiration.size() ||
         seconds < now.count();
}

Entrance to_one_file(const Target& target, const Visit& visit, const http::Request& request) {
  if (request.header("X-Access-Token")) {
    return shows_access_token(request, visit.notes)
               ? shown()
               : refused(401, "access token present in header but does not match");
  }
  const auto signature = target.parameter("signature");
  if (!signature) {
    return refused(401, "missing signature query parameter");
  }
  const SignedRequest said = signed_request(target, request);
  if (!equal_secrets(*signature, signature_of(said, visit.notes.access_token))) {
    return refused(401, "invalid signature");
  }
  return !said.expiration.empty() && is_over(said.expiration)
             ? refused(401, "signature is already expired")
             : shown();
}

Entrance to_envd(const Target& target, const Visit& visit, const http::Request& request) {
  if (!visit.notes.secure) {
    return open();
  }
  if (target.segments.size() == 1 && target.segments[0] == "files") {
    return to_one_file(target, visit, request);
  }
  return shows_access_token(request, visit.notes)
             ? shown()
             : refused(401, "unauthorized access, please provide a valid access token");
}

}  // namespace

SignedRequest signed_request(const Target& target, const http::Request& request) {
  return {.path = target.parameter("path").value_or(""),
          .writes = request.method() == "POST",
          .user = target.parameter("username").value_or(""),
          .expiration = target.parameter("signature_expiration").value_or("")};
}

bool asks_for_health(std::uint16_t port, const Target& target, const http::Request& request) {
  return (port == kEnvdPort || port == kInterpreterPort) && request.method() == "GET" &&
         target.segments.size() == 1 && target.segments[0] == "health";
}

Entrance entrance(std::uint16_t port,
                  const Target& target,
                  const Visit& visit,
                  const http::Request& request) {
  if (port == kEnvdPort) {
    return to_envd(target, visit, request);
  }
  if (shows_traffic_token(request, visit.notes) ||
      (port == kInterpreterPort && shows_access_token(request, visit.notes))) {
    return shown();
  }
  return port != kInterpreterPort && visit.notes.public_ports
             ? open()
             : refused(403, "missing or invalid traffic access token");
}

}  // namespace glovebox::e2b
