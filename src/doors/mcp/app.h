// SPDX-License-Identifier: Apache-2.0
// The page that shows people what run_code returns: tables that sort, and plots. For clients with
// MCP Apps (extension io.modelcontextprotocol/ui).
#pragma once

#include <string_view>

#include "doors/mcp/call.h"
#include "doors/mcp/message.h"

namespace glovebox::mcp {

inline constexpr std::string_view kAppUri = "ui://glovebox/results.html";

// Whether the client shows such pages.
bool shows_apps(const Call& call);
// What the list of tools says about a tool whose results the page shows.
Json app_of_tool();
// As in a list of resources.
Json app_resource();
// As resources/read returns it.
Json app_contents();

}  // namespace glovebox::mcp
