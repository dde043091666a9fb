// SPDX-License-Identifier: Apache-2.0
#include "spec/limits.h"

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr hours kYear{24 * 366};

struct Case {
  std::string field;
  std::function<void(Limits&)> change;
};

TEST(LimitsTest, AcceptsTheDefaults) { EXPECT_TRUE(validate(Limits{})); }

TEST(LimitsTest, RefusesWhatIsJustOutOfRangeAndNamesTheField) {
  const std::vector<Case> cases = {
      {"time", [](Limits& limits) { limits.wall = milliseconds(0); }},
      {"time", [](Limits& limits) { limits.wall = milliseconds(-1); }},
      {"time", [](Limits& limits) { limits.wall = kYear + milliseconds(1); }},
      {"cpu-time", [](Limits& limits) { limits.cpu_time = milliseconds(-1); }},
      {"cpu-time", [](Limits& limits) { limits.cpu_time = kYear + milliseconds(1); }},
      {"memory", [](Limits& limits) { limits.memory = Bytes{(4_MiB).count - 1}; }},
      {"memory", [](Limits& limits) { limits.memory = Bytes{(1ULL << 50) + 1}; }},
      {"cpus", [](Limits& limits) { limits.cpus = 0.009; }},
      {"cpus", [](Limits& limits) { limits.cpus = -1; }},
      {"cpus", [](Limits& limits) { limits.cpus = 4096.5; }},
      {"pids", [](Limits& limits) { limits.pids = 0; }},
      {"pids", [](Limits& limits) { limits.pids = 4'000'001; }},
      {"disk", [](Limits& limits) { limits.disk = Bytes{(64_KiB).count - 1}; }},
      {"disk", [](Limits& limits) { limits.disk = Bytes{(1ULL << 50) + 1}; }},
      {"inodes", [](Limits& limits) { limits.inodes = 63; }},
      {"inodes", [](Limits& limits) { limits.inodes = 1'000'000'001; }},
      {"open-files", [](Limits& limits) { limits.open_files = 7; }},
      {"open-files", [](Limits& limits) { limits.open_files = 1'048'577; }},
      {"output", [](Limits& limits) { limits.output = Bytes{(1_GiB).count + 1}; }},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    Limits limits;
    cases[i].change(limits);

    const auto valid = validate(limits);

    ASSERT_FALSE(valid);
    EXPECT_EQ(valid.error().code(), ErrorCode::kInvalid);
    EXPECT_THAT(valid.error().message(), HasSubstr("limit " + cases[i].field + " "));
    EXPECT_THAT(valid.error().hint(), Not(IsEmpty()));
  }
}

TEST(LimitsTest, AcceptsTheEndsOfEachRange) {
  const Limits smallest{.wall = milliseconds(1),
                        .cpu_time = milliseconds(0),
                        .memory = 4_MiB,
                        .cpus = 0.01,
                        .pids = 1,
                        .disk = 64_KiB,
                        .inodes = 64,
                        .open_files = 8,
                        .output = Bytes{0},
                        .io_rate = Bytes{0}};
  const Limits largest{.wall = kYear,
                       .cpu_time = kYear,
                       .memory = Bytes{1ULL << 50},
                       .cpus = 4096,
                       .pids = 4'000'000,
                       .disk = Bytes{1ULL << 50},
                       .inodes = 1'000'000'000,
                       .open_files = 1'048'576,
                       .output = 1_GiB,
                       .io_rate = Bytes{std::numeric_limits<std::uint64_t>::max()}};

  EXPECT_TRUE(validate(smallest));
  EXPECT_TRUE(validate(largest));
}

TEST(LimitsTest, RefusesProcessorsThatAreNoNumber) {
  for (const double cpus :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    Limits limits;
    limits.cpus = cpus;
    EXPECT_FALSE(validate(limits)) << cpus;
  }
}

TEST(LimitsTest, NamesTheFirstFieldWhereSeveralAreWrong) {
  Limits limits;
  limits.memory = Bytes{1};
  limits.pids = 0;

  const auto valid = validate(limits);

  ASSERT_FALSE(valid);
  EXPECT_THAT(valid.error().message(), HasSubstr("memory"));
}

TEST(LimitsTest, NamesTheFieldWithItsPrefix) {
  Limits limits;
  limits.memory = Bytes{1};

  const auto valid = validate(limits, "compile-");

  ASSERT_FALSE(valid);
  EXPECT_THAT(valid.error().message(), HasSubstr("compile-memory"));
}

}  // namespace
}  // namespace glovebox
