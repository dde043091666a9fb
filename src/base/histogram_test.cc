// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(HistogramTest, BucketsCountWhatIsNotAboveTheirBound) {
  Histogram histogram;
  histogram.add(500us);
  histogram.add(20ms);
  histogram.add(60s);
  const std::string text = histogram.text("m", "door=\"rest\"");
  EXPECT_THAT(text, HasSubstr("m_bucket{door=\"rest\",le=\"5e-04\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("m_bucket{door=\"rest\",le=\"0.01\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("m_bucket{door=\"rest\",le=\"0.025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("m_bucket{door=\"rest\",le=\"30\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("m_bucket{door=\"rest\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("m_count{door=\"rest\"} 3\n"));
}

TEST(HistogramTest, WithoutLabelsThereAreNoEmptyBraces) {
  const std::string text = Histogram().text("m", "");
  EXPECT_THAT(text, HasSubstr("m_bucket{le=\"5e-04\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("m_sum 0\nm_count 0\n"));
}

}  // namespace
}  // namespace glovebox
