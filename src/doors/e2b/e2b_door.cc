// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/e2b_door.h"

#include <algorithm>
#include <array>

#include "doors/e2b/answers.h"
#include "doors/e2b/entrance.h"
#include "doors/e2b/envd.h"
#include "doors/e2b/gate.h"
#include "doors/e2b/interpreter.h"
#include "doors/e2b/list_routes.h"
#include "doors/e2b/port_proxy.h"
#include "doors/e2b/routes.h"
#include "doors/e2b/sandbox_routes.h"
#include "doors/e2b/secret_routes.h"
#include "doors/e2b/template_builds.h"
#include "doors/e2b/template_routes.h"
#include "doors/e2b/url.h"
#include "doors/e2b/volume_routes.h"
#include "spec/json/error_json.h"

namespace glovebox::e2b {
namespace {

constexpr std::array<std::string_view, 7> kControlRoots{
    "sandboxes", "templates", "snapshots", "teams", "volumes", "volumecontent", "secrets"};

bool is_control_route(const std::vector<std::string>& path) {
  if (path.empty()) {
    return false;
  }
  const bool versioned = path[0] == "v2" || path[0] == "v3";
  if (versioned && path.size() == 1) {
    return false;
  }
  return std::ranges::find(kControlRoots, path[versioned ? 1 : 0]) != kControlRoots.end();
}

bool is_signed_file(const Target& target) {
  return target.segments.size() == 1 && target.segments[0] == "files" &&
         target.query.contains("signature");
}

// Requests with a wrong or missing token: more than a client makes by mistake.
constexpr Strangers::Rate kStrangers{.a_second = 20, .at_once = 200};

// The ports of a sandbox that this door serves itself.
bool is_own(std::uint16_t port) { return port == kEnvdPort || port == kInterpreterPort; }

// The sandbox and port that a request goes to: from both headers, or from the host's name.
struct Destination {
  std::string sandbox;
  std::uint16_t port = 0;
};

bool names_sandbox(const http::Request& request) {
  return request.header("E2b-Sandbox-Id") || request.header("E2b-Sandbox-Port");
}

Result<Destination> destination_in_headers(const http::Request& request) {
  const auto id = request.header("E2b-Sandbox-Id");
  const auto port = parse_port(request.header("E2b-Sandbox-Port").value_or(""));
  if (!id || !port) {
    return Error(ErrorCode::kInvalid, "E2b-Sandbox-Id and E2b-Sandbox-Port must be sent together");
  }
  // Older clients add the name of a node behind the id.
  const std::string_view plain = id->substr(0, id->find('-'));
  if (!is_sandbox_id(plain)) {
    return Error(ErrorCode::kInvalid, "invalid sandbox id");
  }
  return Destination{.sandbox = std::string(plain), .port = *port};
}

// Long is what lasts as long as a guest or the client likes and holds a thread: the output of
// processes and the traffic of other ports are passed on without one.
http::Pace pace_of(std::uint16_t port, const Target& target) {
  constexpr std::array<std::string_view, 2> kStreams{"StreamInput", "WatchDir"};
  const auto& path = target.segments;
  const bool is_long =
      !path.empty() &&
      ((port == kEnvdPort &&
        (path[0] == "files" || std::ranges::find(kStreams, path.back()) != kStreams.end())) ||
       (port == kInterpreterPort && path[0] == "execute"));
  return is_long ? http::Pace::kLong : http::Pace::kShort;
}

// What requests to a sandbox count as.
std::string_view door_of(std::uint16_t port) {
  return port == kEnvdPort ? "envd" : port == kInterpreterPort ? "interpreter" : "port";
}

std::string route_of(std::uint16_t port, const Target& target) {
  constexpr std::array<std::string_view, 8> kRoutes{"files",
                                                    "metrics",
                                                    "envs",
                                                    "health",
                                                    "execute",
                                                    "contexts",
                                                    "process.Process",
                                                    "filesystem.Filesystem"};
  const auto& path = target.segments;
  const auto found = path.empty() ? kRoutes.end() : std::ranges::find(kRoutes, path[0]);
  return !is_own(port)            ? "PORT-ID.host"
         : found != kRoutes.end() ? "/" + std::string(*found)
                                  : "none";
}

}  // namespace

struct E2bDoor::Parts {
  Parts(SandboxService& to, E2bOptions with) : service(to), options(std::move(with)) {
    // First, so that "sandboxes/metrics" is not taken for a sandbox.
    lists.add_to(routes);
    sandboxes.add_to(routes);
    builds.add_to(routes);
    templates.add_to(routes);
    volumes.add_to(routes);
    secrets.add_to(routes);
  }

  void control(const Target& target, http::Request& request, http::Response& response);
  void traffic(const Destination& destination,
               const Target& target,
               http::Request& request,
               http::Response& response);
  void enter(Visit visit,
             std::uint16_t port,
             const Target& target,
             http::Request& request,
             http::Response& response);
  void signed_file(const Target& target, http::Request& request, http::Response& response);

  SandboxService& service;
  const E2bOptions options;
  Gate gate{service};
  Strangers strangers{kStrangers};
  UsageMeter meter{service};
  ListRoutes lists{service, meter};
  SandboxRoutes sandboxes{service, gate, options};
  TemplateBuilds builds{service, options};
  TemplateRoutes templates{service};
  VolumeRoutes volumes{service};
  SecretRoutes secrets{service};
  Routes routes;
  Envd envd{service, meter};
  Interpreter interpreter{service, options};
  PortProxy ports{service};
};

E2bDoor::E2bDoor(SandboxService& service, E2bOptions options)
    : parts_(std::make_unique<Parts>(service, std::move(options))) {}

E2bDoor::~E2bDoor() = default;

bool E2bDoor::claims(const Arrival& arrival) const {
  const http::Request& request = arrival.request;
  if (names_sandbox(request)) {
    return true;
  }
  if (const auto& host = arrival.port_host) {
    return is_own(host->port) || parts_->gate.knows(host->sandbox);
  }
  const auto target = parse_target(request.target());
  return target && (is_signed_file(*target) || is_control_route(target->segments));
}

bool E2bDoor::is_for_guest(const Arrival& arrival) const {
  const auto named = parse_port(arrival.request.header("E2b-Sandbox-Port").value_or(""));
  const auto port = named || !arrival.port_host ? named : std::optional(arrival.port_host->port);
  return port && !is_own(*port);
}

void E2bDoor::handle(const Arrival& arrival, http::Response& response) {
  http::Request& request = arrival.request;
  request.facts().door = "e2b";
  const auto target = parse_target(request.target());
  if (!target) {
    refuse(response, 400, "malformed request target");
    return;
  }
  if (names_sandbox(request)) {
    if (const auto destination = destination_in_headers(request)) {
      parts_->traffic(*destination, *target, request, response);
    } else {
      answer_text(response, 400, destination.error().message());
    }
  } else if (const auto& host = arrival.port_host) {
    parts_->traffic({.sandbox = host->sandbox, .port = host->port}, *target, request, response);
  } else if (is_signed_file(*target)) {
    parts_->signed_file(*target, request, response);
  } else if (!target->segments.empty() && target->segments[0] == "volumecontent") {
    request.facts().route = "/volumecontent";
    parts_->volumes.serve_content(*target, request, response);
  } else {
    parts_->control(*target, request, response);
  }
}

void E2bDoor::Parts::control(const Target& target,
                             http::Request& request,
                             http::Response& response) {
  const auto key = request.header("X-API-KEY");
  const auto caller = key                          ? service.authenticate(*key)
                      : request.over_unix_socket() ? Result<Caller>(service.unix_peer())
                                                   : Error(ErrorCode::kRefused, "missing API key");
  if (!caller) {
    refuse(response,
           caller.error().code() == ErrorCode::kRefused ? 401 : http_status(caller.error().code()),
           caller.error().message());
    return;
  }
  request.facts().tenant = caller->tenant;
  request.facts().key = caller->key;
  if (const auto counted = request.count_for(caller->tenant, http::Pace::kShort); !counted) {
    refuse(response, counted.error());
    return;
  }
  ControlCall call{.caller = *caller, .request = request, .response = response, .target = target};
  routes.serve(call, service);
}

void E2bDoor::Parts::traffic(const Destination& destination,
                             const Target& target,
                             http::Request& request,
                             http::Response& response) {
  http::RequestFacts& facts = request.facts();
  facts.door = door_of(destination.port);
  facts.route = route_of(destination.port, target);
  facts.sandbox = destination.sandbox;
  auto visit = gate.find(destination.sandbox);
  if (visit) {
    enter(std::move(*visit), destination.port, target, request, response);
  } else if (auto counted = strangers.charge(1); !counted) {
    refuse(response, counted.error());
  } else {
    refuse_gone(response, destination.sandbox);
  }
}

// Checks what the request shows before it wakes the sandbox: somebody who only knows its id cannot
// keep it awake.
void E2bDoor::Parts::enter(Visit visit,
                           std::uint16_t port,
                           const Target& target,
                           http::Request& request,
                           http::Response& response) {
  const Entrance way = entrance(port, target, visit, request);
  const bool health = asks_for_health(port, target, request);
  if (way.objection && !health) {
    if (auto counted = strangers.charge(1); !counted) {
      refuse(response, counted.error());
    } else if (port == kEnvdPort) {
      refuse(response, way.objection->status, way.objection->message);
    } else {
      refuse_traffic(response, way.objection->status, visit.info.id, way.objection->message);
    }
    return;
  }
  http::RequestFacts& facts = request.facts();
  facts.tenant = visit.caller.tenant;
  facts.key = visit.caller.key;
  facts.sandbox = visit.info.id;
  const bool sleeps = visit.info.state == SandboxState::kPaused;
  auto let_in = way.objection && sleeps ? Result<void>(Error(ErrorCode::kNotFound, "paused"))
                                        : gate.let_in(visit, way.pass == Pass::kShown);
  if (!let_in && let_in.error().code() == ErrorCode::kNotFound) {
    refuse_gone(response, visit.info.id);
  } else if (!let_in) {
    refuse_traffic(response, http_status(let_in.error().code()), visit.info.id,
                   let_in.error().message());
  } else if (auto counted = request.count_for(visit.caller.tenant, pace_of(port, target));
             !counted) {
    refuse(response, counted.error());
  } else if (port == kEnvdPort) {
    envd.serve(target, visit, request, response);
  } else if (port == kInterpreterPort) {
    interpreter.serve(target, visit, request, response);
  } else {
    ports.serve(port, visit, request, response);
  }
}

void E2bDoor::Parts::signed_file(const Target& target,
                                 http::Request& request,
                                 http::Response& response) {
  request.facts().door = "envd";
  request.facts().route = "/files";
  auto visit =
      gate.find_signed(signed_request(target, request), target.parameter("signature").value_or(""));
  if (visit) {
    enter(std::move(*visit), kEnvdPort, target, request, response);
  } else if (visit.error().code() == ErrorCode::kNotFound) {
    refuse(response, 401, "invalid signature");
  } else {
    refuse(response, visit.error());
  }
}

}  // namespace glovebox::e2b
