// SPDX-License-Identifier: Apache-2.0
// The protocol on standard input and output: one message a line.
#pragma once

#include "base/result.h"
#include "doors/mcp/server.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

// Serves one client until its end of input, or until `stop_fd` is readable; then what is under way
// is canceled, and waited for. Requests that may take long have threads of their own, so that no
// request waits for another. Fails when `in` or `out` fails.
Result<void> serve_stdio(Server& server, const Caller& caller, int in, int out, int stop_fd);

}  // namespace glovebox::mcp
