// SPDX-License-Identifier: Apache-2.0
// glovebox replay SANDBOX/CONTEXT: repeats the cells of a context that a journal recorded.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

// Repeats them in a new sandbox, which ends with the call, and compares each cell. `id` is
// SANDBOX/CONTEXT, or SANDBOX/CONTEXT:N for the first N cells. Prints what it finds, and returns
// the exit status. kNotFound if nothing is recorded, kConflict if something was too big to record.
Result<int> replay_cells(DaemonClient& daemon, const std::string& id, bool as_json);

}  // namespace glovebox::cli
