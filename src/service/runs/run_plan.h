// SPDX-License-Identifier: Apache-2.0
// RunPlan: what a one-shot run does, and in what kind of sandbox.
#pragma once

#include "base/result.h"
#include "language/language.h"
#include "sandbox/spec.h"
#include "sandbox/tiers/tier.h"
#include "service/runs/one_shot.h"

namespace glovebox {

struct RunPlan {
  Plan steps;
  TierWish tier;
  SandboxSpec spec;  // Packages, an image and a network come with the RunPlace.
  // The tier runs no programs of this machine, and so no compiler.
  bool compiles_elsewhere = false;
};

// Refuses what no sandbox would be able to do, before one is made.
Result<RunPlan> plan_run(const OneShot& request);

}  // namespace glovebox
