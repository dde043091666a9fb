// SPDX-License-Identifier: Apache-2.0
// Which places a policy's rules for files leave open or close, as far as the kernel can enforce it.
// Patterns match any text; the kernel knows directories with all that is in them, and single files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guard/policy/policy.h"

namespace glovebox::policy {

// In the form of spec/place_rules.h.
struct FilePlaces {
  // If the policy refuses what it does not name, the only places that are open: for each
  // pattern that is not refused, the directory or file that holds all that it matches. Nothing
  // if everything else is open, too, or if a pattern can match anywhere.
  std::optional<std::vector<std::string>> open;
  // The places that the policy refuses: each is one file of the workspace, or one directory with
  // all that is in it, and the policy allows nothing within.
  std::vector<std::string> closed;
};

// For files that are read, or those that are written.
FilePlaces file_places_of(const RuleList& files);

// Why the kernel cannot enforce an entry of the list exactly, as the end of a sentence; empty if it
// can, or if the entry makes no difference to it. What a policy asks about counts as allowed.
std::string why_not_held(const RuleList& files, const Entry& entry);

}  // namespace glovebox::policy
