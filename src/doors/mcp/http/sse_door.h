// SPDX-License-Identifier: Apache-2.0
// SseDoor: the transport of revision 2024-11-05 ("HTTP with SSE"), which inference servers speak to
// their tool servers. GET opens a stream of events, the first of which names where to POST
// messages; what is returned comes as further events.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "doors/mcp/http/admission.h"
#include "doors/mcp/http/sse_sessions.h"
#include "doors/mcp/server.h"
#include "doors/ports/door.h"

namespace glovebox::mcp {

struct SseDoorOptions {
  Admission admission{};
  // Whether the caller's key is still valid; does not block.
  std::function<bool(const Caller& caller)> is_valid{};
  // Called with the last conversation that used a sandbox.
  std::function<void(const Caller& caller, Conversation& conversation)> over{};
};

// Outlives the HTTP server that uses it.
class SseDoor final : public Door {
 public:
  struct Path {
    std::string path;    // Such as "/mcp/python/sse".
    Features& features;  // Outlive the door.
  };
  SseDoor(const std::vector<Path>& paths, SseDoorOptions options);

  [[nodiscard]] bool claims(const Arrival& arrival) const override;
  [[nodiscard]] bool is_for_guest(const Arrival&) const override { return false; }
  void handle(const Arrival& arrival, http::Response& response) override;

 private:
  struct Endpoint {
    std::string path;
    std::unique_ptr<Server> server;
  };
  [[nodiscard]] const Endpoint* endpoint_of(const http::Request& request) const;
  void open(const Endpoint& endpoint,
            const http::Request& request,
            http::Response& response,
            const Caller& caller);
  void post(const Endpoint& endpoint,
            http::Request& request,
            http::Response& response,
            const Caller& caller);
  void answer(const Endpoint& endpoint,
              const Message& message,
              http::Response& response,
              SseSession& session);

  std::vector<Endpoint> endpoints_;
  const SseDoorOptions options_;
  SseSessions sessions_;
};

}  // namespace glovebox::mcp
