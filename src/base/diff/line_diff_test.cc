// SPDX-License-Identifier: Apache-2.0
#include "base/diff/line_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace glovebox {
namespace {

std::string joined(const std::vector<DiffRun>& runs,
                   const std::vector<std::string_view>& before,
                   const std::vector<std::string_view>& after,
                   bool old_side) {
  std::string text;
  for (const DiffRun& run : runs) {
    const bool added = run.kind == DiffRun::Kind::kAdded;
    const bool removed = run.kind == DiffRun::Kind::kRemoved;
    for (std::size_t i = 0; i < run.count; ++i) {
      if (old_side ? !added : !removed) {
        text += added ? after[run.first + i] : before[run.first + i];
      }
    }
  }
  return text;
}

std::size_t changed(const std::vector<DiffRun>& runs) {
  std::size_t count = 0;
  for (const DiffRun& run : runs) {
    count += run.kind == DiffRun::Kind::kSame ? 0 : run.count;
  }
  return count;
}

void expect_both_sides(const std::string& old, const std::string& now, std::size_t effort) {
  const auto before = lines_of(old);
  const auto after = lines_of(now);
  const auto runs = diff_lines(before, after, effort);
  EXPECT_EQ(joined(runs, before, after, true), old);
  EXPECT_EQ(joined(runs, before, after, false), now);
}

TEST(LineDiff, BothTextsAreInItWhateverTheyAre) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const auto text = [&random] {
      std::string made;
      const std::size_t lines = random() % 30;
      for (std::size_t i = 0; i < lines; ++i) {
        made += std::string(1, static_cast<char>('a' + random() % 5)) + "\n";
      }
      return random() % 3 == 0 ? made + "end" : made;
    };
    const std::string old = text();
    const std::string now = text();
    expect_both_sides(old, now, 1'000'000);
    expect_both_sides(old, now, 0);
  }
}

TEST(LineDiff, FindsTheFewestChanges) {
  // The example of Myers's paper has five.
  const auto before = lines_of("a\nb\nc\na\nb\nb\na\n");
  const auto after = lines_of("c\nb\na\nb\na\nc\n");
  EXPECT_EQ(changed(diff_lines(before, after)), 5U);
}

TEST(LineDiff, TextsThatAreTheSameHaveNoChanges) {
  const auto lines = lines_of("a\nb");
  EXPECT_EQ(changed(diff_lines(lines, lines)), 0U);
  EXPECT_TRUE(diff_lines({}, {}).empty());
}

TEST(LineDiff, BeyondTheEffortOnlyTheMiddleIsReplaced) {
  const auto before = lines_of("same\n1\n2\n3\nend\n");
  const auto after = lines_of("same\n4\n2\n5\nend\n");
  EXPECT_EQ(changed(diff_lines(before, after)), 4U);
  EXPECT_EQ(changed(diff_lines(before, after, 0)), 6U);
}

}  // namespace
}  // namespace glovebox
