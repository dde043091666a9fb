// SPDX-License-Identifier: Apache-2.0
// sshd of a sandbox: a process of its like any other (sshd(8), -i), to which nothing connects but
// our own streams.
#pragma once

#include <string>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

// The user whose processes the sandbox with that path starts, as the sandbox says. kUnsupported
// where sshd would not run.
Result<std::string> ask_ssh_user(DaemonClient& daemon, const std::string& sandbox);

// Runs it behind our standard input and output, with the keys in that directory (ssh_client.h).
Result<int> run_ssh_server(DaemonClient& daemon,
                           const std::string& sandbox,
                           const std::string& keys);

}  // namespace glovebox::cli
