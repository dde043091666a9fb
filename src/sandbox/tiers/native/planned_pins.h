// SPDX-License-Identifier: Apache-2.0
// Which mounts it takes to close and hide places of a workspace.
#pragma once

#include <string>
#include <vector>

namespace glovebox {

// What a child::Pin is made of.
struct PlannedPin {
  std::string path;
  bool directory = false;
  bool closed = false;
  bool hidden = false;
  friend bool operator==(const PlannedPin&, const PlannedPin&) = default;
};

// For places as PlaceRules::closed has them: each place and all directories above it, parents
// first. Nothing inside a hidden place is pinned; inside a closed place, only what leads to
// something hidden, and that is closed, too.
std::vector<PlannedPin> plan_pins(const std::vector<std::string>& closed,
                                  const std::vector<std::string>& hidden);

}  // namespace glovebox
