// SPDX-License-Identifier: Apache-2.0
// Analyses by a warm interpreter, in place of a program that is started for each.
#pragma once

#include "service/keeper/calls.h"

namespace glovebox::keeper {

// Tells the verdict of the analysis that `request` would be as a one-shot run. False when there is
// no warm analyser, and nothing was told: then it is to be run as any other.
bool run_warm_analysis(const RunRequest& request, CallContext& context);

}  // namespace glovebox::keeper
