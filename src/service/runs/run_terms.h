// SPDX-License-Identifier: Apache-2.0
// The terms of a run: its tier and its limits, as its language and its caller want them.
#pragma once

#include "base/result.h"
#include "language/language.h"
#include "sandbox/tiers/tier.h"
#include "spec/limit_fields.h"
#include "spec/limits.h"

namespace glovebox {

// The tier for a run of this language: the one that is wished for, or the only one that can do what
// is wished for. kUnsupported if these differ.
Result<TierWish> tier_for(const Language& language, const TierWish& wish, bool deterministic);

// The limits of a run or a compilation of `language`: what the caller set, else what the language
// wants, else ours.
Limits run_limits(const Language& language, const LimitWishes& wishes);
Limits compile_limits(const Language& language, const LimitWishes& wishes);

}  // namespace glovebox
