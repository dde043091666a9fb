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
  // What one policy says. A program has a name for each link that leads to it. It is refused if a
  // pattern of `refuse` matches any of them; else it can be started if one of `allow` does; else
  // `others` decides.
  struct List {
    std::vector<std::string> refuse{};
    std::vector<std::string> allow{};
    bool others = true;
    friend bool operator==(const List&, const List&) = default;
  };

  // A program starts only if each list lets it.
  std::vector<List> lists{};
  // Files that guests can write can be started, too.
  bool written = true;

  // No wall at all.
  [[nodiscard]] bool empty() const { return lists.empty() && written; }

  // Whether a list lets only those programs start that it names.
  [[nodiscard]] bool names_all() const;

  // Whether the program with these names can be started.
  [[nodiscard]] bool lets_start(std::span<const std::string> names) const;

  // Allows a program in each list that does not refuse it: an interpreter that the sandbox is for.
  // Of a path, the last part counts.
  void permit(std::string_view program);

  friend bool operator==(const ExecRules&, const ExecRules&) = default;
};

// kInvalid for more than a policy file can hold: 64 lists, 1,024 patterns in each, and 256 bytes in
// a pattern.
Result<void> validate(const ExecRules& rules);

}  // namespace glovebox
