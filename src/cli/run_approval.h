// SPDX-License-Identifier: Apache-2.0
// Checks policies before a run: whether a program may run at all.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "service/runs/one_shot.h"

namespace glovebox::cli {

// Lets a program pass, or fails with kRefused: shows the findings on standard error and asks at the
// terminal if a policy wants a person to decide. `events` says whether the question is also printed
// as an event on standard output. Raises the tier of the request to what the policies demand.
Result<void> approve(const std::vector<std::string>& policies, OneShot& request, bool events);

}  // namespace glovebox::cli
