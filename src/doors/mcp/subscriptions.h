// SPDX-License-Identifier: Apache-2.0
// Subscriptions: a stream that tells a client what changes (subscriptions/listen of revision
// 2026-07-28): tasks, what they print, and the list of resources.
#pragma once

#include <cstdint>
#include <functional>

#include "doors/mcp/call.h"
#include "doors/mcp/message.h"
#include "doors/mcp/tasks.h"

namespace glovebox::mcp {

// Serves the stream until the client closes it, all that it is about is over, or some minutes have
// passed: a client that listens again shows that it still may. `list_changes` is another number
// whenever the caller's list of resources is another one; empty where it never is.
Reply listen(const Call& call, Tasks& tasks, const std::function<std::uint64_t()>& list_changes);

}  // namespace glovebox::mcp
