// SPDX-License-Identifier: Apache-2.0
// Subscriptions: a client hears what changes: tasks, what they print, and the list of resources. In
// revision 2026-07-28 by a stream for that (subscriptions/listen); in those before it, as part of
// the session (resources/subscribe).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "doors/mcp/call.h"
#include "doors/mcp/message.h"
#include "doors/mcp/tasks.h"

namespace glovebox::mcp {

// Serves the stream until the client closes it, all that it is about is over, or some minutes have
// passed: a client that listens again shows that it still may. `list_changes` returns a different
// number whenever the caller's list of resources has changed; empty if it never does.
Reply listen(const Call& call, Tasks& tasks, const std::function<std::uint64_t()>& list_changes);

inline constexpr std::string_view kSubscribe = "resources/subscribe";
inline constexpr std::string_view kUnsubscribe = "resources/unsubscribe";

// Answers these two methods: from now on the conversation watches what a task prints, or no longer
// does. Its transport tells the client of changes.
Reply subscribe(const Call& call, Tasks& tasks);

}  // namespace glovebox::mcp
