// SPDX-License-Identifier: Apache-2.0
// What a request for the inside of a sandbox has to show: a token, or a signature.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "doors/e2b/gate.h"
#include "doors/e2b/url.h"
#include "doors/transport/http.h"

namespace glovebox::e2b {

// What the E2B door serves itself; any other port is the guest's.
inline constexpr std::uint16_t kEnvdPort = 49983;
inline constexpr std::uint16_t kInterpreterPort = 49999;

enum class Pass {
  kShown,   // A secret of the sandbox.
  kPublic,  // None, and none is asked for.
};
struct Objection {
  int status = 401;
  std::string message;  // As E2B's own servers word it.
};

// Whether the request may go to this port of the sandbox. Changes nothing, and wakes nobody.
struct Entrance {
  Pass pass = Pass::kPublic;
  std::optional<Objection> objection{};
};
Entrance entrance(std::uint16_t port,
                  const Target& target,
                  const Visit& visit,
                  const http::Request& request);

// "GET /health" of the two ports that are ours: tells anybody that the sandbox is alive.
bool asks_for_health(std::uint16_t port, const Target& target, const http::Request& request);

// What a signed URL says.
SignedRequest signed_request(const Target& target, const http::Request& request);

}  // namespace glovebox::e2b
