// SPDX-License-Identifier: Apache-2.0
// Fixtures of the conformance suite whose calls become tasks.
#pragma once

#include <optional>
#include <string_view>

#include "doors/mcp/call.h"
#include "doors/mcp/message.h"
#include "doors/mcp/tasks.h"

namespace glovebox::mcp {

// Asks with its first response; the call that brings the answer becomes a task.
inline constexpr std::string_view kAsksBeforeItsTask = "test_tool_with_task";

// As in a list of tools.
Json task_fixtures();
std::optional<TaskUse> use_of_task_fixture(const Call& call);
// Nothing for another tool.
std::optional<Reply> call_task_fixture(const Call& call);

}  // namespace glovebox::mcp
