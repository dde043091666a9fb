// SPDX-License-Identifier: Apache-2.0
#include "sandbox/subordinate_ids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace glovebox {
namespace {

using Firsts = std::vector<uid_t>;

TEST(SubordinateRanges, AreFourOfWhatUseraddGives) {
  const std::string file = "alice:100000:65536\nbob:165536:65536\n";
  EXPECT_EQ(subordinate_ranges(file, file, "alice", 1000),
            (Firsts{100'000, 116'384, 132'768, 149'152}));
}

TEST(SubordinateRanges, AreAlsoGivenByNumber) {
  EXPECT_EQ(subordinate_ranges("1000:200000:16384", "alice:200000:16384\n", "alice", 1000),
            Firsts{200'000});
}

TEST(SubordinateRanges, AreInBothFiles) {
  EXPECT_EQ(subordinate_ranges("a:100000:65536\n", "a:120000:65536\n", "a", 1),
            (Firsts{120'000, 136'384}));
  EXPECT_TRUE(subordinate_ranges("a:100000:65536\n", "", "a", 1).empty());
  EXPECT_TRUE(subordinate_ranges("a:100000:65536\n", "a:300000:65536\n", "a", 1).empty());
}

TEST(SubordinateRanges, NeverHoldPeopleOfTheHostOrRoot) {
  for (const std::string file : {"a:0:4294967294\n", "a:1000:65536\n", "a:65535:65536\n"}) {
    EXPECT_TRUE(subordinate_ranges(file, file, "a", 1).empty()) << file;
  }
}

TEST(SubordinateRanges, OfOddLinesAreNone) {
  for (const std::string file :
       {"a:100000:16383\n", "a:100000\n", "a\n", ":100000:65536\n", "a:-1:65536\n", "a:100000:x\n",
        "a:4294960000:65536\n", "a:18446744073709551615:65536\n", "a:100000:65536:\n",
        "\n\n:::\n"}) {
    EXPECT_TRUE(subordinate_ranges(file, file, "a", 1).empty()) << file;
    EXPECT_TRUE(subordinate_ranges(file, file, "", 1).empty()) << file;
  }
}

TEST(SubordinateRanges, OverlapNeitherWhereLinesDo) {
  const std::string file = "a:100000:32768\na:100000:32768\na:108192:32768\n";
  EXPECT_EQ(subordinate_ranges(file, file, "a", 1), (Firsts{100'000, 116'384}));
}

TEST(SubordinateRanges, AreBoundedInNumber) {
  const std::string file = "a:65536:4294000000\n";
  EXPECT_EQ(subordinate_ranges(file, file, "a", 1).size(), 256U);
}

}  // namespace
}  // namespace glovebox
