// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace glovebox::e2b {

// What a Python context of E2B's has beyond ours (python_prelude.py).
std::string python_prelude();

}  // namespace glovebox::e2b
