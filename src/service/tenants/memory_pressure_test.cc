// SPDX-License-Identifier: Apache-2.0
#include "service/tenants/memory_pressure.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/tenants/retry_after.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kMeminfo =
    "MemTotal:       33554432 kB\nMemFree:         1048576 kB\nMemAvailable:    2097152 kB\n";
constexpr std::string_view kPressure =
    "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=12.25 avg60=0.00 total=6\n";

TEST(MemoryStateTest, BothFilesAreRead) {
  const MemoryState state = parse_memory_state(kMeminfo, kPressure).value();
  EXPECT_EQ(state.total, 32_GiB);
  EXPECT_EQ(state.available, 2_GiB);
  EXPECT_EQ(state.stalled, 12.25);
}

TEST(MemoryStateTest, WhatIsMissingOrNoNumberIsNotGuessed) {
  EXPECT_EQ(parse_memory_state(kMeminfo, "").value().stalled, std::nullopt);
  EXPECT_EQ(parse_memory_state(kMeminfo, "full avg10=x").value().stalled, std::nullopt);
  for (const char* meminfo : {"", "MemTotal: 1 kB", "MemTotal: 1 kB\nMemAvailable:",
                              "MemTotal: 1 kB\nMemAvailable: -1 kB",
                              "MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB"}) {
    EXPECT_FALSE(parse_memory_state(meminfo, kPressure)) << meminfo;
  }
}

TEST(MemoryStateTest, ThisMachineTellsWhatItHas) {
  const auto state = read_memory_state();
  ASSERT_TRUE(state);
  EXPECT_GT(state->available.count, 0U);
  EXPECT_GE(state->total, state->available);
}

class MemoryPressureTest : public ::testing::Test {
 protected:
  std::optional<MemoryState> state_ = MemoryState{10_GiB, 5_GiB, 0.0};
  int looks_ = 0;
  std::chrono::steady_clock::time_point now_{};
  MemoryPressure pressure_{MemoryBounds{.least_part = 0.1, .least = 128_MiB, .most_stalled = 20},
                           [this] {
                             ++looks_;
                             return state_;
                           },
                           [this] { return now_; }};
};

TEST_F(MemoryPressureTest, WhatFitsBesideWhatIsKeptIsLetIn) {
  EXPECT_TRUE(pressure_.check());
  EXPECT_TRUE(pressure_.check(4_GiB));
  EXPECT_FALSE(pressure_.check(Bytes{(4_GiB).count + 1}));
  EXPECT_FALSE(pressure_.check(Bytes{std::numeric_limits<std::uint64_t>::max()}));
}

TEST_F(MemoryPressureTest, ShortOfMemoryTheErrorSaysWhenToComeBack) {
  state_->available = 1023_MiB;
  const auto refused = pressure_.check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kExhausted);
  EXPECT_TRUE(refused.error().retry_after());
}

TEST_F(MemoryPressureTest, AMachineThatStallsTakesNothingThoughMemoryIsLeft) {
  state_->stalled = 20.1;
  EXPECT_FALSE(pressure_.check());
}

TEST_F(MemoryPressureTest, WhereTheMachineTellsNothingNothingIsRefused) {
  state_.reset();
  EXPECT_TRUE(pressure_.check(1_GiB));
}

TEST_F(MemoryPressureTest, ItLooksAgainOnlyAfterAWhile) {
  EXPECT_TRUE(pressure_.check());
  state_->available = Bytes{0};
  EXPECT_TRUE(pressure_.check());
  EXPECT_EQ(looks_, 1);
  now_ += 250ms;
  EXPECT_FALSE(pressure_.check());
  EXPECT_EQ(looks_, 2);
}

}  // namespace
}  // namespace glovebox
