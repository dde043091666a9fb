// SPDX-License-Identifier: Apache-2.0
// The difference of two texts, by lines.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace glovebox {

// A run of lines that both texts have, or only one has.
struct DiffRun {
  enum class Kind { kSame, kRemoved, kAdded };
  Kind kind = Kind::kSame;
  std::size_t first =
      0;  // Index of a line: of the new text where it is added, else of the old one.
  std::size_t count = 0;
};

// The lines of a text, each with its end; the last one may have none.
std::vector<std::string_view> lines_of(std::string_view text);

// Steps that a comparison may take: some tens of milliseconds.
inline constexpr std::size_t kDiffEffort = 20'000'000;

// The runs that turn `before` into `after`, in order. The fewest changes (Myers, "An O(ND)
// Difference Algorithm and Its Variations", 1986), unless finding them would take more than
// `effort` steps: then everything between the common beginning and the common end is removed and
// added.
std::vector<DiffRun> diff_lines(const std::vector<std::string_view>& before,
                                const std::vector<std::string_view>& after,
                                std::size_t effort = kDiffEffort);

}  // namespace glovebox
