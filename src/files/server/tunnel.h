// SPDX-License-Identifier: Apache-2.0
// Passing on all that comes between two connections.
#pragma once

#include <string>

namespace glovebox::files {

// Until both directions have ended, one side has failed, or `a` is closed. Each end is passed on by
// itself: whoever says no more can still be told something. `ahead` goes to `b` first.
void run_tunnel(int a, int b, std::string ahead);

}  // namespace glovebox::files
