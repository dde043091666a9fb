// SPDX-License-Identifier: Apache-2.0
#include "files/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::files {
namespace {

using ::testing::ElementsAre;

constexpr const char* kPasswd =
    "root:x:0:0:root:/root:/bin/sh\n"
    "broken:x:none:0::/:\n"
    "short:x:7\n"
    "app:x:1001:1002:App:/home/app:/bin/sh\n";
constexpr const char* kGroup = "root:x:0:\napp:x:1002:\naudio:x:29:other,app\nvideo:x:44:apple\n";

TEST(Users, NamesAndNumbersAreLookedUp) {
  for (const char* const wanted : {"app", "1001"}) {
    const auto user = find_user(wanted, kPasswd, kGroup);
    ASSERT_TRUE(user) << wanted;
    EXPECT_EQ(user->uid, 1001U);
    EXPECT_EQ(user->gid, 1002U);
    EXPECT_THAT(user->groups, ElementsAre(1002, 29));
    EXPECT_EQ(user->name, "app");
    EXPECT_EQ(user->home, "/home/app");
  }
}

TEST(Users, ANumberNeedsNoEntryAndAGroupIsTakenAlone) {
  const auto user = find_user("4000:audio", kPasswd, kGroup);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 4000U);
  EXPECT_EQ(user->gid, 29U);
  EXPECT_THAT(user->groups, ElementsAre(29));
  EXPECT_EQ(find_user("4000:5", "", "")->gid, 5U);
  EXPECT_EQ(find_user("4000", "", "")->gid, 0U);
}

TEST(Users, NobodyIsTakenForSomebodyElse) {
  for (const char* const wanted : {"", ":0", "nobody", "broken", "short", "4294967295", "-1", "0x0",
                                   "app:nogroup", "app:", "99999999999"}) {
    EXPECT_FALSE(find_user(wanted, kPasswd, kGroup)) << wanted;
  }
  EXPECT_FALSE(find_user("app", std::string("app:x:0\0:0::/:\n", 15), ""));
  EXPECT_FALSE(find_user(std::string(300, 'a'), std::string(300, 'a') + ":x:1:1::/:", ""));
}

}  // namespace
}  // namespace glovebox::files
