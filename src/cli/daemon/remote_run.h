// SPDX-License-Identifier: Apache-2.0
// A request that a daemon answers with the events of something that runs, and its verdict.
#pragma once

#include <string>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

struct RunShowing {
  bool json = false;    // Only the verdict, as one JSON object.
  bool events = false;  // JSON lines as they come.
};

// Posts `request` and shows what comes. Returns the exit status as for `glovebox run`; 128+N if
// signal N ended the waiting, and with it what runs.
Result<int> follow_run(DaemonClient& daemon,
                       const std::string& path,
                       const Json& request,
                       RunShowing showing);

}  // namespace glovebox::cli
