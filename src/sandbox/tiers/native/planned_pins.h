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

// For places as PlaceRules::closed has them: each of them and all directories above it, in an order
// in which what is above comes first. Nothing is in what is hidden; of what is in a closed place,
// only what leads to something hidden, and that is closed, too.
std::vector<PlannedPin> plan_pins(const std::vector<std::string>& closed,
                                  const std::vector<std::string>& hidden);

}  // namespace glovebox
