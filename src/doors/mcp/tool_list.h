// SPDX-License-Identifier: Apache-2.0
// The tools as a client sees them: names, descriptions, schemas.
#pragma once

#include <string_view>

#include "doors/mcp/message.h"

namespace glovebox::mcp {

struct ToolChoice {
  bool packages = false;  // Whether packages can be installed.
  bool tasks = false;     // Whether the list says which calls the client can make tasks of.
  bool app = false;       // Whether it names the page that shows results.
};

// Whether a call of the tool may take so long that a client wants a task for it.
bool may_be_task(std::string_view tool);

// In a fixed order. Models pay for each word of it: tests/mcp counts the tokens.
Json tool_list(const ToolChoice& choice);

}  // namespace glovebox::mcp
