// SPDX-License-Identifier: Apache-2.0
// The zygote's side of context/zygote_protocol.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/zygote_protocol.h"

namespace glovebox::zygote {

struct Warm {
  std::string_view version;  // Of the interpreter.
  // Files open for reading that forks keep (entry.h).
  std::vector<int> files{};
  // Called in each fork, once it is in its sandbox.
  std::function<void()> entered{};
};

// Says on the socket that this process is warm, and forks for each request, into the sandbox that
// came with it. Returns the request in each fork, and nothing in this process once the socket
// closes. Each fork is undumpable until it is in its sandbox. Requires: one thread.
std::optional<ForkRequest> serve_forks(int socket, const Warm& warm);

}  // namespace glovebox::zygote
