// SPDX-License-Identifier: Apache-2.0
// PlaceRules: where a guest can write, or what it can read, as a wall of its sandbox.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox {

// A value. For one of the two: what can be written, or what can be read.
struct PlaceRules {
  bool everywhere = true;
  // The only places that are open, if not `everywhere`: "out/" is a directory with all that is in
  // it, "report.txt" a file. Relative to the workspace, "./" itself, or absolute; without "." and
  // "..". None lies in another.
  std::vector<std::string> places{};
  // Places that are always closed, whether something is there or not: as above, but relative to the
  // workspace and in it. Only a tier with mounts of its own can enforce that.
  std::vector<std::string> closed{};

  // No wall at all.
  [[nodiscard]] bool empty() const { return everywhere && closed.empty(); }

  // Leaves open only what also lies in one of these places.
  void restrict_to(const std::vector<std::string>& others);

  // Whether a place is open, whatever is closed in it.
  [[nodiscard]] bool covers(const std::string& place) const;
  // Opens one more place.
  void permit(std::string place);

  friend bool operator==(const PlaceRules&, const PlaceRules&) = default;
};

// kInvalid for more than a policy file or a file system can hold, and for a place that is not a
// path of the above form.
Result<void> validate(const PlaceRules& rules);

}  // namespace glovebox
