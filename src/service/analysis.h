// SPDX-License-Identifier: Apache-2.0
// Analyses programs before they are run, inside a sandbox: what it reads is hostile.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "guard/policy/assessment.h"
#include "sandbox/sandbox.h"

namespace glovebox {

// What is to be analysed.
struct SourceUnit {
  std::string language;  // The id of a language.
  std::string code;
};

// The facts about each unit, in their order. A unit that is too large, or that the analysis cannot
// cope with, has a fact of kind kUnparsed; one in a language that no analyser handles has no
// family. Fails only when no sandbox can be had. Takes some 50 ms, and at most 20 s for each kind
// of analyser. Safe to use from any thread.
Result<std::vector<policy::Program>> analyse(const std::vector<SourceUnit>& units,
                                             const TierWish& tier);

}  // namespace glovebox
