// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http/read_message.h"

#include <utility>
#include <variant>

#include "doors/mcp/http/admission.h"

namespace glovebox::mcp {

std::optional<Message> read_message(http::Request& request,
                                    http::Response& response,
                                    const Caller& caller) {
  if (auto room = request.count_for(caller.tenant, http::Pace::kLong); !room) {
    send_error(response, 429, code::kInternal, room.error().message());
    return std::nullopt;
  }
  const auto body = request.read_all(kMaxMessage);
  if (!body) {
    send_error(response, body.error().code() == ErrorCode::kExhausted ? 413 : 400,
               code::kInvalidRequest, body.error().message());
    return std::nullopt;
  }
  auto parsed = parse_message(*body);
  if (const auto* const malformed = std::get_if<Malformed>(&parsed)) {
    (void)response.send(400, {{"Content-Type", "application/json"}},
                        response_text(malformed->id, malformed->error));
    return std::nullopt;
  }
  return std::get<Message>(std::move(parsed));
}

}  // namespace glovebox::mcp
