// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/kept_outputs.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::mcp {
namespace {

TEST(KeptOutputsTest, BelongToTheirTenant) {
  KeptOutputs outputs;
  const std::string uri = outputs.keep("one", "stdout", "text/plain", "text");
  ASSERT_TRUE(outputs.find("one", uri));
  EXPECT_EQ(outputs.find("one", uri)->bytes, "text");
  EXPECT_FALSE(outputs.find("two", uri));
  EXPECT_TRUE(outputs.all("two").empty());
}

TEST(KeptOutputsTest, TheOldestOfATenantGoesForTheNewest) {
  KeptOutputs outputs;
  const std::string others = outputs.keep("two", "stdout", "text/plain", "stays");
  const std::string first = outputs.keep("one", "stdout", "text/plain", "first");
  for (std::size_t i = 0; i < KeptOutputs::kMostEntries; ++i) {
    (void)outputs.keep("one", "stdout", "text/plain", "next");
  }
  EXPECT_FALSE(outputs.find("one", first));
  EXPECT_EQ(outputs.all("one").size(), KeptOutputs::kMostEntries);
  EXPECT_TRUE(outputs.find("two", others));
}

TEST(KeptOutputsTest, BytesAreBounded) {
  KeptOutputs outputs;
  EXPECT_EQ(outputs.keep("one", "x", "text/plain", std::string(KeptOutputs::kMostOfTenant, 'x')),
            "");
  const std::string quarter(KeptOutputs::kMostOfTenant / 4, 'x');
  for (int i = 0; i < 6; ++i) {
    EXPECT_NE(outputs.keep("one", "x", "text/plain", quarter), "");
  }
  EXPECT_EQ(outputs.all("one").size(), 4U);
}

}  // namespace
}  // namespace glovebox::mcp
