// SPDX-License-Identifier: Apache-2.0
// What the headers of a request say of its message, and of who sent it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/mcp/message.h"
#include "doors/mcp/server.h"
#include "doors/transport/http.h"

namespace glovebox::mcp {

// The error of a stateless request whose headers are missing or say something else than its
// message; nothing when they agree.
std::optional<RpcError> check_headers(const http::Request& request,
                                      const Message& message,
                                      const Features& features);

// Whether a web page may send the request: one of this machine to this machine, or of a listed
// origin. A request that no page sends has no Origin, and is allowed.
bool may_come_from(const http::Request& request, const std::vector<std::string>& origins);

// Whether the client takes this type of answer.
bool accepts(const http::Request& request, std::string_view type);

// The status of a response whose text is the error `code`, in the stateless revision.
int status_of(std::string_view response_text);

}  // namespace glovebox::mcp
