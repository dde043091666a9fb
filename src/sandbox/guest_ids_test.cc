// SPDX-License-Identifier: Apache-2.0
#include "sandbox/guest_ids.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sandbox/id_range.h"

namespace glovebox {
namespace {

constexpr const char* kWholeMachine = "         0          0 4294967295\n";

TEST(GuestIdsTest, OfAWholeMachineLieAboveAllOthers) {
  const auto ids = guest_ids_in(kWholeMachine, kWholeMachine);

  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->first, GuestIds::kFirst);
  EXPECT_EQ(ids->slots, GuestIds::kSlots);
  EXPECT_TRUE(ids->has_ranges);
}

// hostUsers: false, Docker's userns-remap; and Podman, which maps its user besides.
TEST(GuestIdsTest, OfAContainerWithIdsOfItsOwnAreItsLastBeforeNobody) {
  for (const std::string map : {"0 231072 65536\n", "0 1000 1\n1 100000 65536\n"}) {
    const auto ids = guest_ids_in(map, map);

    ASSERT_TRUE(ids) << map;
    EXPECT_EQ(ids->slots, 2048) << map;
    EXPECT_EQ(ids->first + 2 * ids->slots, 65534) << map;
    EXPECT_FALSE(ids->has_ranges) << map;
  }
}

TEST(GuestIdsTest, OfALargeNamespaceAreAsManyAsOfAMachine) {
  const auto ids = guest_ids_in("0 1000000 1000000000\n", "0 1000000 1000000000\n");

  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->slots, GuestIds::kSlots);
  EXPECT_EQ(ids->first + 2 * std::uint64_t{ids->slots}, 1000000000);
}

TEST(GuestIdsTest, AreThoseThatUsersAndGroupsBothHave) {
  const auto ids = guest_ids_in("0 100000 65536\n", "0 100000 40000\n");

  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->first + 2 * ids->slots, 40000);
  EXPECT_FALSE(guest_ids_in("0 100000 65536\n", "0 1000 1\n"));
}

TEST(GuestIdsTest, AreMissingWhereThereAreFewOrTheMapIsUnknown) {
  for (const std::string map : {"0 1000 1\n", "0 1000 2000\n", "", "none\n"}) {
    EXPECT_FALSE(guest_ids_in(map, map)) << map;
  }
  EXPECT_TRUE(guest_ids_in("0 1000 2048\n", "0 1000 2048\n"));
}

// Ids 65,535 and 65,534 are what unknown ids look like: -1 in 16 bits, and nobody.
TEST(GuestIdsTest, NeverHoldNobody) {
  for (std::uint64_t count = 65530; count < 65536 + 8192; ++count) {
    const std::string map = "0 100000 " + std::to_string(count) + "\n";
    const auto ids = guest_ids_in(map, map);

    ASSERT_TRUE(ids) << map;
    const std::uint64_t end = ids->first + 2 * std::uint64_t{ids->slots};
    EXPECT_TRUE(end <= 65534 || ids->first >= 65536) << map;
    EXPECT_LE(end, count) << map;
  }
}

}  // namespace
}  // namespace glovebox
