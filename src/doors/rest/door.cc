// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/door.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <exception>

#include "base/check.h"
#include "base/text.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"

namespace glovebox::rest {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kMaxKey = 512;

std::string new_request_id() {
  std::array<unsigned char, 12> random{};
  // So few bytes always come whole (getrandom(2)).
  GB_CHECK(::getrandom(random.data(), random.size(), 0) == ssize_t{random.size()});
  std::string id = "req_";
  for (const unsigned char byte : random) {
    id += "0123456789abcdef"[byte >> 4U];
    id += "0123456789abcdef"[byte & 15U];
  }
  return id;
}

// The client's own where it can stand in a log as it is.
std::string request_id(const http::Request& request) {
  const auto given = request.header("x-request-id");
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '-' ||
           c == '_' || c == '.' || c == ':';
  };
  if (given && !given->empty() && given->size() <= 128 &&
      std::all_of(given->begin(), given->end(), fits)) {
    return std::string(*given);
  }
  return new_request_id();
}

std::optional<std::string_view> key_of(const http::Request& request) {
  if (const auto key = request.header("x-api-key")) {
    return key;
  }
  const auto authorization = request.header("authorization");
  if (authorization && authorization->starts_with(kBearer)) {
    return authorization->substr(kBearer.size());
  }
  return std::nullopt;
}

bool takes(const Route& route, std::string_view method) {
  return route.method == "*" || route.method == method;
}

}  // namespace

RestDoor::RestDoor(SandboxService& service, RestOptions options)
    : service_(service), options_(std::move(options)) {}

bool RestDoor::serves(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  return path == "/v1" || path.starts_with("/v1/") || path == "/openapi.json" ||
         path == "/healthz" || path == "/metrics";
}

Result<void> RestDoor::admit(Call& call, std::string_view scope) {
  if (scope.empty()) {
    return {};
  }
  const auto key = key_of(call.request);
  if (key) {
    auto caller = key->size() <= kMaxKey
                      ? service_.authenticate(*key)
                      : Result<Caller>(Error(ErrorCode::kRefused, "no such key"));
    if (!caller) {
      return std::move(caller).error();
    }
    call.caller = *std::move(caller);
  } else if (call.request.over_unix_socket()) {
    call.caller = service_.unix_peer();
  } else {
    return Error(ErrorCode::kRefused, "no key");
  }
  return {};
}

void RestDoor::answer(Call& call, std::string_view& pattern) {
  const std::string_view method = call.request.method();
  std::string allowed;
  const Route* chosen = nullptr;
  for (const Route& route : routes()) {
    auto parameters = match(route.pattern, call.target.segments);
    if (!parameters) {
      continue;
    }
    if (takes(route, method)) {
      chosen = &route;
      call.parameters = *std::move(parameters);
      break;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  if (chosen == nullptr && allowed.empty()) {
    call.send_problem(404, "not_found", "there is no such route: see /openapi.json");
    return;
  }
  if (chosen == nullptr) {
    call.send_problem(405, "invalid", "this route does not take this method", {{"Allow", allowed}});
    return;
  }
  pattern = chosen->pattern;
  if (auto admitted = admit(call, chosen->scope); !admitted) {
    if (admitted.error().code() != ErrorCode::kRefused) {
      call.send_error(admitted.error());
      return;
    }
    metrics_.count_refused_key();
    call.send_json(401,
                   {{"code", 401},
                    {"error", "unauthorized"},
                    {"message", "a valid API key is needed"},
                    {"hint", "send it as 'Authorization: Bearer KEY' or 'X-API-KEY: KEY'"}},
                   {{"WWW-Authenticate", "Bearer"}});
    return;
  }
  if (!chosen->scope.empty() && !call.caller.may(chosen->scope)) {
    call.send_error(Error(ErrorCode::kRefused,
                          "this key lacks the scope '" + std::string(chosen->scope) + "'"));
    return;
  }
  if (auto done = chosen->handle(call); !done) {
    call.send_error(done.error());
  }
}

void RestDoor::log(const Call& call,
                   std::string_view pattern,
                   std::chrono::microseconds took) const {
  if (!options_.access_log) {
    return;
  }
  options_.access_log(to_line(Json{{"event", "request"},
                                   {"at", to_text(std::chrono::system_clock::now())},
                                   {"request_id", call.request_id},
                                   {"method", to_utf8(call.request.method())},
                                   {"path", to_utf8(call.target.raw_path)},
                                   {"route", pattern},
                                   {"status", call.status},
                                   {"tenant", to_utf8(call.caller.tenant)},
                                   {"unix", call.request.over_unix_socket()},
                                   {"duration_us", took.count()}}));
}

void RestDoor::handle(http::Request& request, http::Response& response) {
  const auto start = std::chrono::steady_clock::now();
  const Metrics::InFlight in_flight(metrics_);
  Call call{.request = request,
            .response = response,
            .service = service_,
            .metrics = metrics_,
            .more_metrics = options_.more_metrics,
            .target = {},
            .request_id = request_id(request),
            .caller = {},
            .parameters = {}};
  std::string_view pattern = "none";
  if (auto target = parse_target(request.target()); target) {
    call.target = *std::move(target);
    answer(call, pattern);
  } else {
    call.target.raw_path = request.target().substr(0, request.target().find('?'));
    call.send_error(target.error());
  }
  const auto took = std::chrono::steady_clock::now() - start;
  const bool known = pattern != "none";
  metrics_.count(known ? request.method() : "other", pattern, call.status, took);
  log(call, pattern, std::chrono::duration_cast<std::chrono::microseconds>(took));
}

}  // namespace glovebox::rest
