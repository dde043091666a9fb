// SPDX-License-Identifier: Apache-2.0
// Dry runs for a client: what one has changed, as text, and the result that reports it.
#pragma once

#include <string>

#include "doors/mcp/message.h"
#include "doors/mcp/tool_result.h"
#include "doors/mcp/tools.h"

namespace glovebox::mcp {

// The files and variables that a dry run (docs/dry-run.md) has changed, and what it has started or
// wanted to reach, a line each, for a person; empty if there is none of that.
std::string dry_run_changes(const Json& run);

// If the verdict is of a dry run: adds the same with its diffs, and how it was decided or can be.
void put_dry_run(ToolCall& call, ToolResult& result, const Json& verdict);

}  // namespace glovebox::mcp
