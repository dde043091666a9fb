// SPDX-License-Identifier: Apache-2.0
// What the runner gives up before it reads a module, and what more before the module runs. Below
// that stands the native sandbox that it is the guest of.
#pragma once

#include "base/result.h"

namespace glovebox::wasm {

// No further program can be started from here on.
Result<void> give_up_programs();

// The process runs no code but that which is in its memory now: no page becomes executable, and no
// filter can be put on any more.
Result<void> give_up_new_code();

}  // namespace glovebox::wasm
