// SPDX-License-Identifier: Apache-2.0
// What the runner gives up before it reads a module, and what more before the module runs. It is
// also the guest of a native sandbox, whose walls hold below that.
#pragma once

#include "base/result.h"

namespace glovebox::wasm {

// No further program can be started from here on.
Result<void> give_up_programs();

// The process runs only code that is in its memory now: no page becomes executable, and no filter
// can be installed any more.
Result<void> give_up_new_code();

}  // namespace glovebox::wasm
