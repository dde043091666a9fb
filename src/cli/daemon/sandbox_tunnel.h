// SPDX-License-Identifier: Apache-2.0
// Connects a sandbox's process to our standard input and output, for the program that started us.
#pragma once

#include <string>
#include <string_view>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

// Starts the process of `request` (POST …/processes) in the sandbox with that path, and gives it
// `first` and then our standard input, byte for byte; its output becomes ours. Its standard error
// comes as text, without control characters. At the end of our input or on a signal, the process
// gets a moment to end by itself, then it is killed. Returns its exit status.
Result<int> run_tunnel(DaemonClient& daemon,
                       const std::string& sandbox,
                       Json request,
                       std::string_view first);

}  // namespace glovebox::cli
