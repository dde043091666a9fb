// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/door.h"

#include <algorithm>
#include <array>
#include <exception>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "doors/ports/guest_head.h"
#include "doors/rest/gone.h"
#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "doors/transport/status.h"

namespace glovebox::rest {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kMaxKey = 512;

// The client's own if it can be logged as it is.
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
  return "req_" + random_hex(12);
}

// Two slashes in front would make the next word a host (RFC 3986, 4.2).
std::string path_here(std::string_view path) {
  return "/" + std::string(path.substr(std::min(path.find_first_not_of("/\\"), path.size())));
}

std::optional<std::string_view> key_of(const http::Request& request) {
  if (const auto key = request.header("x-api-key")) {
    return key;
  }
  const auto authorization = request.header("authorization");
  if (authorization && authorization->size() >= kBearer.size() &&
      http::equal_names(authorization->substr(0, kBearer.size()), kBearer)) {
    return authorization->substr(kBearer.size());
  }
  return std::nullopt;
}

bool takes(const Route& route, std::string_view method) {
  return route.method == "*" || route.method == method ||
         (method == "HEAD" && route.method == "GET" && !route.streams);
}

void send_failure(Call& call, const Error& error) {
  if (const auto gone = describe_gone(call, error)) {
    call.send_json(410, "error", *gone);
  } else {
    call.send_error(error);
  }
}

}  // namespace

RestDoor::RestDoor(SandboxService& service, RestOptions options)
    : service_(service), options_(std::move(options)), port_tokens_(service.signing_key()) {}

bool RestDoor::claims(const Arrival&) const { return true; }

bool RestDoor::is_for_guest(const Arrival& arrival) const {
  const std::string_view target = arrival.request.target();
  const std::string_view path = target.substr(0, target.find('?'));
  constexpr std::string_view kSandboxes = "/v1/sandboxes/";
  if (arrival.port_host || !path.starts_with(kSandboxes)) {
    return arrival.port_host.has_value();
  }
  return path.substr(std::min(path.find('/', kSandboxes.size()), path.size()))
      .starts_with("/ports/");
}

Result<void> RestDoor::authenticate(Call& call) {
  const auto key = key_of(call.request);
  if (key) {
    auto caller = key->size() <= kMaxKey
                      ? service_.authenticate(*key)
                      : Result<Caller>(Error(ErrorCode::kRefused, "invalid API key"));
    if (!caller) {
      return std::move(caller).error();
    }
    call.caller = *std::move(caller);
  } else if (call.request.over_unix_socket()) {
    call.caller = service_.unix_peer();
  } else {
    return Error(ErrorCode::kRefused, "no API key");
  }
  return {};
}

void RestDoor::answer(Call& call) {
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
    call.send_problem(404, "not_found", "no such route",
                      "see /openapi.json for the available routes");
    return;
  }
  if (chosen == nullptr) {
    call.send_problem(405, "invalid", "method not allowed for this route", "use one of " + allowed,
                      {{"Allow", allowed}});
    return;
  }
  http::RequestFacts& facts = call.request.facts();
  facts.route = chosen->pattern;
  if (chosen->pattern.starts_with("/v1/sandboxes/{id}")) {
    facts.sandbox = call.parameters[0];
  }
  call.route = chosen;
  auto known = chosen->scope.empty() ? Result<void>() : authenticate(call);
  if (!known) {
    if (known.error().code() != ErrorCode::kRefused) {
      call.send_error(known.error());
      return;
    }
    call.send_problem(401, "unauthorized", "a valid API key is required",
                      "send it as 'Authorization: Bearer KEY' or 'X-API-KEY: KEY'",
                      {{"WWW-Authenticate", "Bearer"}});
    return;
  }
  // The service decides; asked here because of what a handler does before it calls the service:
  // parsing, a handshake.
  auto done = chosen->scope.empty() ? Result<void>() : service_.admit(call.caller, chosen->scope);
  if (done && !chosen->scope.empty()) {
    done = call.request.count_for(call.caller.tenant, chosen->pace);
  }
  if (done) {
    done = chosen->handle(call);
  }
  if (!done) {
    send_failure(call, done.error());
  }
}

Result<Caller> RestDoor::token_holder(const PortPass& pass, const PortHost& name) {
  for (const std::string& token : pass.tokens) {
    const auto key =
        port_tokens_.key_of(token, name.sandbox, name.port, std::chrono::system_clock::now());
    if (!key) {
      continue;
    }
    if (auto bearer = service_.bearer(name.sandbox)) {
      bearer->caller.key = *key;
      GB_TRY(service_.renew(bearer->caller));
      return std::move(bearer->caller);
    }
  }
  return Error(ErrorCode::kRefused, "invalid token");
}

void RestDoor::answer_port(Call& call, const PortHost& name) {
  const std::string_view target = call.request.target();
  call.target.raw_path = target.substr(0, target.find('?'));
  call.target.raw_query = target.substr(std::min(call.target.raw_path.size() + 1, target.size()));
  call.named_by_host = true;
  call.parameters = {name.sandbox, std::to_string(name.port)};
  const PortPass pass = show_port_pass(call.request, call.target.raw_query, options_.tls);
  auto holder = token_holder(pass, name);
  auto known = holder ? Result<void>() : authenticate(call);
  if (holder) {
    call.caller = *std::move(holder);
  } else if (holder.error().code() != ErrorCode::kRefused) {
    call.send_error(holder.error());
    return;
  } else if (!known || !service_.admit(call.caller, kScopeRun)) {
    call.send_problem(401, "unauthorized",
                      "this port requires an API key for its sandbox, or a port token",
                      "get a token with POST /v1/sandboxes/ID/port-tokens");
    return;
  }
  if (holder && pass.in_query) {
    // From now on the browser shows it by itself, and no page sees it in an address.
    const std::string cookie = std::string(options_.tls ? ports::kSecureCookie : ports::kCookie) +
                               "=" + pass.tokens[0] + "; Path=/; HttpOnly; SameSite=Lax" +
                               (options_.tls ? "; Secure" : "");
    (void)call.response.send(302,
                             {{"Location", path_here(call.target.raw_path) + pass.rest_of_query},
                              {"Set-Cookie", cookie},
                              {"Cache-Control", "no-store"},
                              {"Referrer-Policy", "no-referrer"}},
                             "");
    return;
  }
  auto done = call.request.count_for(call.caller.tenant, http::Pace::kShort);
  if (done) {
    done = proxy_port(call);
  }
  if (!done) {
    send_failure(call, done.error());
  }
}

void RestDoor::handle(const Arrival& arrival, http::Response& response) {
  http::Request& request = arrival.request;
  Call call{.request = request,
            .response = response,
            .service = service_,
            .metrics = options_.metrics,
            .approvals = options_.approvals,
            .port_tokens = port_tokens_,
            .target = {},
            .request_id = request_id(request),
            .caller = {},
            .parameters = {}};
  http::RequestFacts& facts = request.facts();
  facts.door = arrival.port_host ? "port" : "rest";
  facts.id = call.request_id;
  if (arrival.port_host) {
    facts.route = "PORT-ID.host";
    facts.sandbox = arrival.port_host->sandbox;
    answer_port(call, *arrival.port_host);
  } else if (auto target = parse_target(request.target()); target) {
    call.target = *std::move(target);
    answer(call);
  } else {
    call.target.raw_path = request.target().substr(0, request.target().find('?'));
    call.send_error(target.error());
  }
  facts.tenant = call.caller.tenant;
  facts.key = call.caller.key;
}

}  // namespace glovebox::rest
