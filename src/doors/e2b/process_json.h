// SPDX-License-Identifier: Apache-2.0
// Processes and what they say, as messages of process.Process.
#pragma once

#include <string>
#include <vector>

#include "doors/e2b/fields.h"
#include "service/api/sandbox_service.h"

namespace glovebox::e2b {

Json process_json(const ProcessInfo& process);

// One message, or several if the output is longer than one may hold.
std::vector<Json> event_json(const ProcessEvent& event);

// "exit status 3", "signal: killed": in Go's words, which clients show.
std::string end_status(int exit_code, std::optional<int> signal);

}  // namespace glovebox::e2b
