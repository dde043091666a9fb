// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;
using namespace std::chrono_literals;

std::optional<std::chrono::milliseconds> parsed(std::string_view text) {
  const auto duration = parse_duration(text);
  return duration ? std::optional(*duration) : std::nullopt;
}

TEST(ParseDurationTest, TakesABareNumberForSeconds) {
  EXPECT_THAT(parsed("30"), Optional(30s));
  EXPECT_THAT(parsed("0"), Optional(0ms));
}

TEST(ParseDurationTest, TakesEachUnit) {
  EXPECT_THAT(parsed("250ms"), Optional(250ms));
  EXPECT_THAT(parsed("30s"), Optional(30s));
  EXPECT_THAT(parsed("5m"), Optional(5min));
  EXPECT_THAT(parsed("2h"), Optional(2h));
}

TEST(ParseDurationTest, TakesFractionsToTheNearestMillisecond) {
  EXPECT_THAT(parsed("1.5m"), Optional(90s));
  EXPECT_THAT(parsed("0.25"), Optional(250ms));
  EXPECT_THAT(parsed("0.0004"), Optional(0ms));
  EXPECT_THAT(parsed("1.4996s"), Optional(1500ms));
  EXPECT_THAT(parsed("0.3s"), Optional(300ms));
}

TEST(ParseDurationTest, RefusesWhatIsNoDuration) {
  for (const std::string_view text :
       {"",     " ",   "s",    "ms",   "x",     "-1",  "-1s", "+1s",  " 1s",   "1s ",
        "1 s",  "1S",  "1M",   "1H",   "1MS",   "1w",  "1us", "1sec", "1m30s", "1h1",
        "1:30", "1e3", "0x10", "1,5s", "1..5s", "nan", "inf", "infs", "-inf"}) {
    EXPECT_EQ(parsed(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseDurationTest, RefusesBytesBehindAZero) {
  EXPECT_EQ(parsed(std::string_view("1\0", 2)), std::nullopt);
  EXPECT_EQ(parsed(std::string_view("1s\0", 3)), std::nullopt);
}

TEST(ParseDurationTest, EndsAtOneYear) {
  EXPECT_THAT(parsed("8760h"), Optional(8760h));
  EXPECT_THAT(parsed("8784h"), Optional(8784h));  // A leap year.

  EXPECT_EQ(parsed("8784.001h"), std::nullopt);
  EXPECT_EQ(parsed("31622401s"), std::nullopt);
}

TEST(ParseDurationTest, RefusesDurationsThatOverflow) {
  EXPECT_EQ(parsed("9223372036854775807ms"), std::nullopt);
  EXPECT_EQ(parsed("18446744073709551617"), std::nullopt);
  EXPECT_EQ(parsed(std::string(308, '9') + "h"), std::nullopt);
  EXPECT_EQ(parsed(std::string(400, '9')), std::nullopt);
}

TEST(ParseDurationTest, SaysWhatIsWrongAndWhatToWrite) {
  const auto duration = parse_duration("soon");

  ASSERT_FALSE(duration);
  EXPECT_EQ(duration.error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(duration.error().message(), "invalid duration 'soon'");
  EXPECT_THAT(duration.error().hint(), HasSubstr("30s"));
}

}  // namespace
}  // namespace glovebox
