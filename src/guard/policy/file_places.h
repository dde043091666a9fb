// SPDX-License-Identifier: Apache-2.0
// Which places the rules for files of a policy leave and close, as far as the kernel can hold that.
// Patterns match any text; the kernel knows directories with all that is in them, and single files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guard/policy/policy.h"

namespace glovebox::policy {

// As spec/place_rules.h has them.
struct FilePlaces {
  // Where the policy refuses what it does not name, the only places that are open: for each
  // pattern that is not refused, the directory or file that holds all that it matches. Nothing
  // where everything else is open, too, or a pattern can match anywhere.
  std::optional<std::vector<std::string>> open;
  // What the policy refuses that is one file of the workspace, or one directory with all that is in
  // it, and in which it allows nothing.
  std::vector<std::string> closed;
};

// For files that are read, or those that are written.
FilePlaces file_places_of(const RuleList& files);

// Why the kernel cannot hold an entry of the list exactly, as the end of a sentence; empty where it
// can, or where the entry makes no difference to it. What a policy asks about counts as allowed.
std::string why_not_held(const RuleList& files, const Entry& entry);

}  // namespace glovebox::policy
