// SPDX-License-Identifier: Apache-2.0
// ExecRules: the programs that a guest can start, as a wall of its sandbox.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox {

// A value. Patterns are those of matches_glob(), for the names of files without their directories.
struct ExecRules {
  // What one policy says. A program has a name for each link that leads to it. It is refused where
  // a pattern of `refuse` matches any of them; else it can be started where one of `allow` does;
  // else `others` decides.
  struct List {
    std::vector<std::string> refuse{};
    std::vector<std::string> allow{};
    bool others = true;
    friend bool operator==(const List&, const List&) = default;
  };

  // A program starts only where each of them lets it.
  std::vector<List> lists{};
  // Files that guests can write can be started, too.
  bool written = true;

  // No wall at all.
  [[nodiscard]] bool empty() const { return lists.empty() && written; }

  // A list lets only those programs start that it names.
  [[nodiscard]] bool names_all() const;

  // Whether the program of these names can be started.
  [[nodiscard]] bool lets_start(std::span<const std::string> names) const;

  // Allows a program by each list that does not refuse it: an interpreter that the sandbox is for.
  // A path counts for its last part.
  void permit(std::string_view program);

  friend bool operator==(const ExecRules&, const ExecRules&) = default;
};

// kInvalid for more than a policy file can hold: 64 lists, 1,024 patterns in each, and 256 bytes in
// a pattern.
Result<void> validate(const ExecRules& rules);

}  // namespace glovebox
