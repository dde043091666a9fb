// SPDX-License-Identifier: Apache-2.0
#include "language/suggest.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace glovebox {
namespace {

// Nothing that people mean to type as a name is longer, and the table below grows with its square.
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kLeastPrefix = 3;

// The restricted Damerau-Levenshtein distance, by three rows of its table.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// What somebody abbreviated: "--mem" for "--memory".
std::string only_one_that_begins(std::string_view wanted,
                                 const std::vector<std::string_view>& candidates) {
  std::string found;
  for (const std::string_view candidate : candidates) {
    if (wanted.size() >= kLeastPrefix && lower_case(candidate).starts_with(wanted)) {
      if (!found.empty()) {
        return {};
      }
      found = candidate;
    }
  }
  return found;
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > kMaxWord) {
    return {};
  }
  const std::string wanted = lower_case(word);
  std::string nearest;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kMaxWord) {
      continue;
    }
    const std::size_t steps = distance(wanted, lower_case(candidate));
    // Replacing every letter is not mistyping.
    if (steps < best && steps < candidate.size()) {
      best = steps;
      nearest = candidate;
    }
  }
  return nearest.empty() ? only_one_that_begins(wanted, candidates) : nearest;
}

}  // namespace glovebox
