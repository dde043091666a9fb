// SPDX-License-Identifier: Apache-2.0
// A judge's report as JSON, the same for the command line and the daemon. Bytes that are not UTF-8
// are replaced.
#pragma once

#include <string>

#include "service/judge/judge.h"

namespace glovebox::judge {

std::string to_json(const Report& report);

// Events: of a case that has ended, and of the end.
std::string case_event(const CaseReport& report);
std::string report_event(const Report& report);

}  // namespace glovebox::judge
