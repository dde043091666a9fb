// SPDX-License-Identifier: Apache-2.0
// WriteRules: where a guest can write, as a wall of its sandbox.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox {

// A value.
struct WriteRules {
  bool everywhere = true;
  // Where else nothing can be written: "out/" is a directory with all that is in it, "report.txt" a
  // file. Relative to the workspace, "./" itself, or absolute; without "." and "..". None lies in
  // another one.
  std::vector<std::string> places{};
  // Where nothing can be written, whether something is there or not: as above, but relative to the
  // workspace and in it. Only a tier with mounts of its own can hold that.
  std::vector<std::string> closed{};

  // No wall at all.
  [[nodiscard]] bool empty() const { return everywhere && closed.empty(); }

  // Leaves what lies in one of these places, too.
  void restrict_to(const std::vector<std::string>& others);

  friend bool operator==(const WriteRules&, const WriteRules&) = default;
};

// kInvalid for more than a policy file or a file system can hold, and for a place that is no path
// of the above form.
Result<void> validate(const WriteRules& rules);

}  // namespace glovebox
