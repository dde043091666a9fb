// SPDX-License-Identifier: Apache-2.0
// A sandbox's sshd: a process of the sandbox like any other (sshd(8), -i), to which only our own
// streams connect.
#pragma once

#include <string>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

// The user as whom the sandbox with that path starts processes, as the sandbox says. kUnsupported
// if sshd would not run.
Result<std::string> ask_ssh_user(DaemonClient& daemon, const std::string& sandbox);

// Runs it on our standard input and output, with the keys in that directory (ssh_client.h).
Result<int> run_ssh_server(DaemonClient& daemon,
                           const std::string& sandbox,
                           const std::string& keys);

}  // namespace glovebox::cli
