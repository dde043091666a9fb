// SPDX-License-Identifier: Apache-2.0
// Passing on all that comes between two connections.
#pragma once

#include <string>

namespace glovebox::files {

// Runs until both directions have ended, one side has failed, or `a` is closed. Each end is passed
// on by itself: a side that has stopped sending can still receive. `ahead` goes to `b` first.
void run_tunnel(int a, int b, std::string ahead);

}  // namespace glovebox::files
