// SPDX-License-Identifier: Apache-2.0
// The tools as a client sees them: names, descriptions, schemas.
#pragma once

#include "doors/mcp/message.h"

namespace glovebox::mcp {

struct ToolChoice {
  bool packages = false;  // Whether packages can be installed.
};

// In a fixed order. Models pay for each word of it: tests/mcp counts the tokens.
Json tool_list(const ToolChoice& choice);

}  // namespace glovebox::mcp
