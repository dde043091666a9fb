// SPDX-License-Identifier: Apache-2.0
// Who may use the protocol over HTTP, and how others are turned away.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "doors/transport/http.h"
#include "service/api/caller.h"
#include "service/api/sandbox_service.h"

namespace glovebox::mcp {

struct Admission {
  // Who asks; kRefused when the request does not prove it.
  std::function<Result<Caller>(const http::Request& request)> authenticate{};
  // Web pages that may ask, besides those of this machine.
  std::vector<std::string> origins{};

  // The caller, who is noted in the facts of the request. Nothing for a request that may not use
  // the server: this has answered it.
  std::optional<Caller> admit(http::Request& request, http::Response& response) const;
};

// Takes an API key as every door does, or as the password of the scheme Basic, for clients that can
// only be given a URL; over the Unix socket none is needed.
Result<Caller> authenticate_by_key(SandboxService& service, const http::Request& request);

// A response that is an error of JSON-RPC without an id.
void send_error(http::Response& response,
                int status,
                int number,
                std::string message,
                const http::Headers& more = {});

}  // namespace glovebox::mcp
