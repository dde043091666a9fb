// SPDX-License-Identifier: Apache-2.0
#include "base/diff/unified_diff.h"

#include <algorithm>

namespace glovebox {
namespace {

using Kind = DiffRun::Kind;

constexpr std::size_t kContext = 3;
constexpr std::size_t kLooksBinary = 8'000;

// Lines of one hunk, and where it is.
struct Hunk {
  std::size_t old_first = 0;
  std::size_t old_count = 0;
  std::size_t new_first = 0;
  std::size_t new_count = 0;
  std::string lines{};
};

void put_line(Hunk& hunk, char sign, std::string_view line) {
  hunk.lines += sign;
  hunk.lines += line;
  if (!line.ends_with('\n')) {
    hunk.lines += "\n\\ No newline at end of file\n";
  }
  hunk.old_count += sign == '+' ? 0 : 1;
  hunk.new_count += sign == '-' ? 0 : 1;
}

// "12,3"; for no lines, the number of the line before, as in every patch.
std::string range(std::size_t first, std::size_t count) {
  return std::to_string(count == 0 ? first : first + 1) +
         (count == 1 ? "" : "," + std::to_string(count));
}

void end_hunk(std::string& patch, Hunk& hunk) {
  if (!hunk.lines.empty()) {
    patch += "@@ -" + range(hunk.old_first, hunk.old_count) + " +" +
             range(hunk.new_first, hunk.new_count) + " @@\n" + hunk.lines;
  }
  hunk = Hunk{};
}

}  // namespace

UnifiedDiff unified_diff(std::string_view old, std::string_view now, std::size_t effort) {
  UnifiedDiff text;
  const auto before = lines_of(old);
  const auto after = lines_of(now);
  const auto runs = diff_lines(before, after, effort);
  Hunk hunk;
  std::size_t at_old = 0;
  std::size_t at_new = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const DiffRun& run = runs[i];
    if (run.kind == Kind::kSame) {
      const bool is_last = i + 1 == runs.size();
      const bool joins = !hunk.lines.empty() && !is_last && run.count <= 2 * kContext;
      const std::size_t behind = hunk.lines.empty() ? 0
                                 : joins            ? run.count
                                                    : std::min(run.count, kContext);
      for (std::size_t n = 0; n < behind; ++n) {
        put_line(hunk, ' ', before[run.first + n]);
      }
      if (!joins) {
        end_hunk(text.hunks, hunk);
        const std::size_t ahead = is_last ? 0 : std::min(run.count, kContext);
        hunk.old_first = at_old + run.count - ahead;
        hunk.new_first = at_new + run.count - ahead;
        for (std::size_t n = run.count - ahead; n < run.count; ++n) {
          put_line(hunk, ' ', before[run.first + n]);
        }
      }
      at_old += run.count;
      at_new += run.count;
      continue;
    }
    const bool removed = run.kind == Kind::kRemoved;
    for (std::size_t n = 0; n < run.count; ++n) {
      put_line(hunk, removed ? '-' : '+', removed ? before[run.first + n] : after[run.first + n]);
    }
    (removed ? text.removed : text.added) += run.count;
    (removed ? at_old : at_new) += run.count;
  }
  end_hunk(text.hunks, hunk);
  return text;
}

bool looks_binary(std::string_view content) {
  return content.substr(0, kLooksBinary).contains('\0');
}

}  // namespace glovebox
