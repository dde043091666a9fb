// SPDX-License-Identifier: Apache-2.0
// The message in the body of a POST.
#pragma once

#include <optional>

#include "doors/mcp/message.h"
#include "doors/transport/http.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

// Reads and parses it, as a long request of the caller. Nothing when the tenant has too many
// requests under way or it is not a message: then this has answered the request.
std::optional<Message> read_message(http::Request& request,
                                    http::Response& response,
                                    const Caller& caller);

}  // namespace glovebox::mcp
