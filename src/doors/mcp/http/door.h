// SPDX-License-Identifier: Apache-2.0
// HttpDoor: the protocol over HTTP ("Streamable HTTP"), at one path.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doors/mcp/http/admission.h"
#include "doors/mcp/http/sessions.h"
#include "doors/mcp/http/streamed_answer.h"
#include "doors/mcp/server.h"
#include "doors/ports/door.h"

namespace glovebox::mcp {

struct HttpDoorOptions {
  std::string path = "/mcp";
  Admission admission{};
  // Whether a caller may still use what the door serves; empty: always.
  std::function<bool(const Caller& caller)> is_valid{};
  // Called when a session is over, with what it had.
  std::function<void(const Caller& caller, Conversation& conversation)> ended{};
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
              http::Headers headers,
              std::optional<Keeping> keeping);
  // Serves a stream of a session: of what belongs to no request, or one that its client has lost.
  void stream(http::Request& request, http::Response& response, const Caller& caller);
  void remove(const http::Request& request, http::Response& response, const Caller& caller);

  Server server_;
  const HttpDoorOptions options_;
  Sessions sessions_;
};

}  // namespace glovebox::mcp
