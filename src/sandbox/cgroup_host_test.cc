// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup_host.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(KeyedValueTest, FindsALineByItsFirstWord) {
  constexpr std::string_view kEvents = "low 0\nhigh 12\noom 3\noom_kill 18446744073709551615\n";

  EXPECT_EQ(keyed_value(kEvents, "high"), 12U);
  EXPECT_EQ(keyed_value(kEvents, "oom"), 3U);
  EXPECT_EQ(keyed_value(kEvents, "oom_kill"), 18446744073709551615U);
}

TEST(KeyedValueTest, TakesAWholeWordAtTheBeginningOfALineOnly) {
  EXPECT_EQ(keyed_value("oom_kill 7\n", "oom"), 0U);
  EXPECT_EQ(keyed_value("not oom 7\n", "oom"), 0U);
  EXPECT_EQ(keyed_value("room 7\n", "oom"), 0U);
}

TEST(KeyedValueTest, ReadsALastLineWithoutAnEnd) {
  EXPECT_EQ(keyed_value("a 1\nusage_usec 5", "usage_usec"), 5U);
}

TEST(KeyedValueTest, IsZeroWhereThereIsNoNumber) {
  for (const std::string_view text :
       {"", "\n\n", "max", "max\n", "max ", "max max\n", "max -1\n"}) {
    EXPECT_EQ(keyed_value(text, "max"), 0U) << text;
  }
}

TEST(BlockDevicesTest, AreGivenByMajorAndMinorOnceEach) {
  auto devices = block_devices();

  EXPECT_THAT(devices, Each(MatchesRegex("[0-9]+:[0-9]+")));
  std::sort(devices.begin(), devices.end());
  EXPECT_EQ(std::adjacent_find(devices.begin(), devices.end()), devices.end());
}

TEST(CgroupHostTest, IsFoundOutOnce) { EXPECT_EQ(&cgroup_host(), &cgroup_host()); }

TEST(CgroupHostTest, KnowsThatThereIsAProcessor) { EXPECT_GE(cgroup_host().processors, 1); }

TEST(CgroupHostTest, SaysHowToMendWhatItCannotDo) {
  const CgroupHost& host = cgroup_host();
  if (host.support.mode != CgroupMode::kNone) {
    EXPECT_THAT(host.support.reason, IsEmpty());
    return;
  }
  EXPECT_THAT(host.support.reason, Not(IsEmpty()));
  EXPECT_FALSE(host.support.memory || host.support.pids || host.support.cpu || host.support.io);
}

TEST(CgroupHostTest, HasDirectoriesForWhatItSupports) {
  const CgroupHost& host = cgroup_host();
  const auto usable = [](const std::string& directory) {
    return directory.starts_with(kCgroupRoot) && ::access(directory.c_str(), W_OK) == 0;
  };
  switch (host.support.mode) {
    case CgroupMode::kNone:
      GTEST_SKIP() << "no cgroups here: " << host.support.reason;
    case CgroupMode::kV1:
      EXPECT_PRED1(usable, host.v1_memory);
      EXPECT_PRED1(usable, host.v1_pids);
      EXPECT_EQ(host.support.cpu, usable(host.v1_cpu));
      EXPECT_EQ(host.support.io, usable(host.v1_blkio));
      EXPECT_THAT(host.v2_parent, IsEmpty());
      break;
    case CgroupMode::kV2:
      EXPECT_PRED1(usable, host.v2_parent);
      EXPECT_TRUE(host.support.memory && host.support.pids);
      EXPECT_THAT(host.v1_memory, IsEmpty());
      break;
  }
}

}  // namespace
}  // namespace glovebox
