// SPDX-License-Identifier: Apache-2.0
#include "sandbox/id_range.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/guest_ids.h"

namespace glovebox {
namespace {

class IdRangeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root has ids to give";
    }
  }
  static IdRange take() {
    auto range = IdRange::take();
    EXPECT_TRUE(range) << range.error().message();
    return range ? std::move(range).value() : IdRange();
  }
};

TEST_F(IdRangeTest, OfLivingHoldersNeverOverlapEachOtherOrASlot) {
  std::vector<IdRange> held;
  std::set<uid_t> firsts;
  for (int i = 0; i < 200; ++i) {
    held.push_back(take());
    const uid_t first = held.back().first();
    EXPECT_GE(first, GuestIds::kFirst + 2 * GuestIds::kSlots);
    EXPECT_LE(first + std::uint64_t{IdRange::kSize}, 0x7FFE0000U);
    EXPECT_EQ((first - IdRange::kFirst) % IdRange::kSize, 0U);
    firsts.insert(first);
  }
  EXPECT_EQ(firsts.size(), held.size());
}

TEST_F(IdRangeTest, IsFreeAgainWithItsHolderAndLeavesNoFile) {
  IdRange range = take();
  const std::string path = "/run/glovebox/.ids/" + std::to_string(range.first());
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  range = IdRange();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(IdRangeTest, OfADeadHolderIsSweptAndOfALivingOneIsNot) {
  const IdRange range = take();
  const std::string folder = "/run/glovebox/.ids/";
  const std::string dead = folder + "dead-" + std::to_string(::getpid());
  std::ofstream{dead};
  IdRange::sweep();
  EXPECT_NE(::access(dead.c_str(), F_OK), 0);
  EXPECT_EQ(::access((folder + std::to_string(range.first())).c_str(), F_OK), 0);
}

TEST_F(IdRangeTest, MovesWithItsHolder) {
  IdRange range = take();
  const uid_t first = range.first();
  IdRange other = std::move(range);
  EXPECT_EQ(other.first(), first);
  const std::string path = "/run/glovebox/.ids/" + std::to_string(first);
  range = IdRange();
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace glovebox
