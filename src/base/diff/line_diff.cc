// SPDX-License-Identifier: Apache-2.0
#include "base/diff/line_diff.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

namespace glovebox {
namespace {

using Kind = DiffRun::Kind;

// The furthest points of each number of changes take memory, too.
constexpr std::size_t kMostChanges = 4'000;

void add(std::vector<DiffRun>& runs, Kind kind, std::size_t first, std::size_t count) {
  if (count == 0) {
    return;
  }
  if (!runs.empty() && runs.back().kind == kind && runs.back().first + runs.back().count == first) {
    runs.back().count += count;
  } else {
    runs.push_back({.kind = kind, .first = first, .count = count});
  }
}

// Lines as numbers: the same number for the same text.
class Numbers {
 public:
  std::vector<std::size_t> of(const std::vector<std::string_view>& lines) {
    std::vector<std::size_t> found;
    found.reserve(lines.size());
    for (const std::string_view line : lines) {
      found.push_back(numbers_.try_emplace(line, numbers_.size()).first->second);
    }
    return found;
  }

 private:
  std::unordered_map<std::string_view, std::size_t> numbers_;
};

// A step of the way: one line removed or added, and then lines that both have.
struct Step {
  long x;
  long y;
};

// The points where the way turns, from the end to the beginning; nothing beyond the effort.
std::optional<std::vector<Step>> way(const std::vector<std::size_t>& a,
                                     const std::vector<std::size_t>& b,
                                     std::size_t effort) {
  const long n = static_cast<long>(a.size());
  const long m = static_cast<long>(b.size());
  const long most = std::min<long>(n + m, kMostChanges);
  std::vector<long> furthest(static_cast<std::size_t>(2 * most + 3), 0);
  const auto at = [&](std::vector<long>& v, long k) -> long& {
    return v[static_cast<std::size_t>(k + most + 1)];
  };
  std::vector<std::vector<long>> trace;
  std::size_t steps = 0;
  for (long d = 0; d <= most; ++d) {
    // Keeps of each round only the diagonals that it can have reached.
    trace.emplace_back(furthest.begin() + (most + 1 - d), furthest.begin() + (most + 2 + d));
    for (long k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      long x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      long y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)]) {
        ++x;
        ++y;
        ++steps;
      }
      at(furthest, k) = x;
      if (x >= n && y >= m) {
        std::vector<Step> found;
        for (long back = d; back >= 0; --back) {
          found.push_back({.x = x, .y = y});
          if (back == 0) {
            break;
          }
          std::vector<long>& before = trace[static_cast<std::size_t>(back)];
          const auto reached = [&](long diagonal) {
            return before[static_cast<std::size_t>(diagonal + back)];
          };
          const long diagonal = x - y;
          const bool came_down =
              diagonal == -back ||
              (diagonal != back && reached(diagonal - 1) < reached(diagonal + 1));
          const long previous = came_down ? diagonal + 1 : diagonal - 1;
          x = reached(previous);
          y = x - previous;
        }
        return found;
      }
    }
    steps += static_cast<std::size_t>(d) + 1;
    if (steps > effort) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::vector<DiffRun> diff_lines(const std::vector<std::string_view>& before,
                                const std::vector<std::string_view>& after,
                                std::size_t effort) {
  Numbers numbers;
  std::vector<std::size_t> a = numbers.of(before);
  std::vector<std::size_t> b = numbers.of(after);
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t head = 0;
  while (head < shorter && a[head] == b[head]) {
    ++head;
  }
  std::size_t tail = 0;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) {
    ++tail;
  }
  const std::size_t a_end = a.size() - tail;
  a = {a.begin() + static_cast<long>(head), a.begin() + static_cast<long>(a_end)};
  b = {b.begin() + static_cast<long>(head), b.end() - static_cast<long>(tail)};
  std::vector<DiffRun> runs;
  add(runs, Kind::kSame, 0, head);
  const auto found = way(a, b, effort);
  if (!found) {
    add(runs, Kind::kRemoved, head, a.size());
    add(runs, Kind::kAdded, head, b.size());
  } else {
    std::size_t x = 0;
    std::size_t y = 0;
    // Each turn ends with lines that both have; what stands before them was removed or added.
    for (auto turn = found->rbegin(); turn != found->rend(); ++turn) {
      const auto to_x = static_cast<std::size_t>(turn->x);
      const auto to_y = static_cast<std::size_t>(turn->y);
      const std::size_t same = std::min(to_x - x, to_y - y);
      add(runs, Kind::kRemoved, head + x, to_x - x - same);
      add(runs, Kind::kAdded, head + y, to_y - y - same);
      add(runs, Kind::kSame, head + to_x - same, same);
      x = to_x;
      y = to_y;
    }
  }
  add(runs, Kind::kSame, a_end, tail);
  return runs;
}

}  // namespace glovebox
