// SPDX-License-Identifier: Apache-2.0
#include "sandbox/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace glovebox {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(MachineTest, IsAsLargeAsTheLimits) {
  const Limits limits{.memory = 64_MiB, .cpus = 0.5};
  const auto [memory, processors, statistics, online] = machine_texts(limits);
  EXPECT_THAT(memory, HasSubstr("MemTotal:          65536 kB\n"));
  EXPECT_THAT(memory, HasSubstr("MemAvailable:      65536 kB\n"));
  EXPECT_TRUE(processors.starts_with("processor\t: 0\n")) << processors;
  EXPECT_EQ(processors.find("processor\t: 1"), std::string::npos);
  EXPECT_THAT(statistics, HasSubstr("cpu0 "));
  EXPECT_EQ(statistics.find("cpu1"), std::string::npos);
  EXPECT_EQ(online, "0\n");
  EXPECT_THAT(machine_environment(limits),
              UnorderedElementsAre(Pair("OMP_NUM_THREADS", "1"), Pair("GOMAXPROCS", "1")));
}

TEST(MachineTest, IsNeverLargerThanTheHostNorItsTextThanIsAllowed) {
  const Limits limits{.memory = Bytes{1ULL << 60}, .cpus = 4096};
  const auto host = static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_THAT(machine_environment(limits),
              testing::Contains(Pair("OMP_NUM_THREADS", std::to_string(host))));
  std::size_t all = 0;
  for (const std::string& text : machine_texts(limits)) {
    all += text.size();
    EXPECT_EQ(text.find("1125899906842624"), std::string::npos);
  }
  EXPECT_LE(all, 128U * 1024);
}

}  // namespace
}  // namespace glovebox
