// SPDX-License-Identifier: Apache-2.0
// What `glovebox judge` reports: to people, and as JUnit's XML to CI systems.
#pragma once

#include <string>

#include "service/judge/judge.h"

namespace glovebox::cli {

// One line about a case.
std::string line_of(const judge::CaseReport& report);
// The line at the end.
std::string total_of(const judge::Report& report);

// `name` is what the suite is called.
std::string judge_junit(const judge::Report& report, const std::string& name);

}  // namespace glovebox::cli
