// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/qemu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::microvm {
namespace {

std::uint64_t memory_for(Bytes limit) {
  Limits limits;
  limits.memory = limit;
  return model_for(limits, 0).memory.count;
}

TEST(MachineModelTest, HoldsTheGuestsAndLittleMore) {
  for (std::uint64_t mib = 1; mib < 70'000; mib += 7) {
    const std::uint64_t needed = Bytes{mib << 20}.count + kMachineMemory.count;
    const std::uint64_t given = memory_for(Bytes{mib << 20});
    ASSERT_GE(given, needed) << mib;
    ASSERT_LE(given, needed + std::max(needed / 8, std::uint64_t{32} << 20)) << mib;
    ASSERT_EQ(given % (32UL << 20), 0) << mib;
  }
}

TEST(MachineModelTest, IsOneOfFew) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t mib = 1024; mib < 2048; ++mib) {
    sizes.insert(memory_for(Bytes{mib << 20}));
  }
  EXPECT_LE(sizes.size(), 10);
}

TEST(MachineModelTest, HasAWholeProcessorAtLeast) {
  Limits limits;
  limits.cpus = 0.25;
  EXPECT_EQ(model_for(limits, 0).processors, 1);
}

bool has_word(const std::vector<std::string>& command, std::string_view part) {
  return std::ranges::any_of(
      command, [&](const std::string& word) { return word.find(part) != std::string::npos; });
}

TEST(MachineCommandTest, NamesACardOnlyWhereThereIsAWayOut) {
  const Installation installation{.programs = "/programs", .qemu = "/qemu"};
  Limits limits;
  const auto closed = machine_command(installation, model_for(limits, 0));
  EXPECT_FALSE(has_word(closed, "net"));
  EXPECT_FALSE(has_word(closed, "egress"));
  const auto open = machine_command(installation, model_for(limits, 3128));
  EXPECT_TRUE(has_word(open, kCardState));
  EXPECT_TRUE(has_word(open, " egress_port=3128"));
  // Each of them would be a way in, or a file of the host.
  for (const char* const way : {"hostfwd", "guestfwd", "tftp=", "smb=", "bootfile="}) {
    EXPECT_FALSE(has_word(open, way)) << way;
  }
}

}  // namespace
}  // namespace glovebox::microvm
