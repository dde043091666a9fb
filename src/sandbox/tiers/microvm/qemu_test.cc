// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/qemu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace glovebox::microvm {
namespace {

std::uint64_t memory_for(Bytes limit) {
  Limits limits;
  limits.memory = limit;
  return size_for(limits).memory.count;
}

TEST(MachineSizeTest, HoldsTheGuestsAndLittleMore) {
  for (std::uint64_t mib = 1; mib < 70'000; mib += 7) {
    const std::uint64_t needed = Bytes{mib << 20}.count + kMachineMemory.count;
    const std::uint64_t given = memory_for(Bytes{mib << 20});
    ASSERT_GE(given, needed) << mib;
    ASSERT_LE(given, needed + std::max(needed / 8, std::uint64_t{32} << 20)) << mib;
    ASSERT_EQ(given % (32UL << 20), 0) << mib;
  }
}

TEST(MachineSizeTest, IsOneOfFew) {
  std::set<std::uint64_t> sizes;
  for (std::uint64_t mib = 1024; mib < 2048; ++mib) {
    sizes.insert(memory_for(Bytes{mib << 20}));
  }
  EXPECT_LE(sizes.size(), 10);
}

TEST(MachineSizeTest, HasAWholeProcessorAtLeast) {
  Limits limits;
  limits.cpus = 0.25;
  EXPECT_EQ(size_for(limits).processors, 1);
}

}  // namespace
}  // namespace glovebox::microvm
