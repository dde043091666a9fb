// SPDX-License-Identifier: Apache-2.0
// HttpDoor: the protocol over HTTP ("Streamable HTTP"), at one path.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/mcp/http/sessions.h"
#include "doors/mcp/server.h"
#include "doors/ports/door.h"
#include "service/sandbox_service.h"

namespace glovebox::mcp {

struct HttpDoorOptions {
  std::string path = "/mcp";
  // Who asks; kRefused when the request does not prove it.
  std::function<Result<Caller>(const http::Request& request)> authenticate{};
  // Called when a session is over, with what it had.
  std::function<void(const Caller& caller, Conversation& conversation)> ended{};
  // Web pages that may ask, beside those of this machine.
  std::vector<std::string> origins{};
};

class HttpDoor final : public Door {
 public:
  // The features outlive it.
  HttpDoor(Features& features, HttpDoorOptions options);

  [[nodiscard]] bool claims(const Arrival& arrival) const override;
  [[nodiscard]] bool is_for_guest(const Arrival&) const override { return false; }
  void handle(const Arrival& arrival, http::Response& response) override;

 private:
  void post(http::Request& request, http::Response& response, const Caller& caller);
  void answer(const Message& message,
              http::Request& request,
              http::Response& response,
              const Caller& caller,
              const std::shared_ptr<Conversation>& conversation,
              http::Headers headers);
  void remove(const http::Request& request, http::Response& response, const Caller& caller);

  Server server_;
  const HttpDoorOptions options_;
  Sessions sessions_;
};

// Shows an API key as every door takes it; over the Unix socket none is needed.
Result<Caller> authenticate_by_key(SandboxService& service, const http::Request& request);

}  // namespace glovebox::mcp
