// SPDX-License-Identifier: Apache-2.0
// Programs that are compiled in one sandbox and run in another.
#pragma once

#include "base/result.h"
#include "service/runs/one_shot.h"
#include "service/runs/run_plan.h"

namespace glovebox {

// As run_once(), for a request whose plan compiles elsewhere: in a sandbox of the tier `native`, or
// of a stronger one. Of the compiler's work, only the product goes into the sandbox of the run.
Result<OneShotResult> run_compiled_elsewhere(const OneShot& request,
                                             const RunPlan& plan,
                                             const OneShotObserver& observer);

}  // namespace glovebox
