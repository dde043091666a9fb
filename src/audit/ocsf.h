// SPDX-License-Identifier: Apache-2.0
// A record as an event of the Open Cybersecurity Schema Framework: API Activity (class 6003).
#pragma once

#include <string>

#include "audit/record.h"

namespace glovebox::audit {

// One line of JSON, without its line break.
[[nodiscard]] std::string to_ocsf(const Record& record, const std::string& version);

}  // namespace glovebox::audit
