// SPDX-License-Identifier: Apache-2.0
#include "checker/request.h"

#include <gtest/gtest.h>

namespace glovebox::checker {
namespace {

TEST(Request, HasTheSchemaAndBehindItTheDocument) {
  const auto request = parse_request("2\n{}[1]");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->schema, "{}");
  EXPECT_EQ(request->document, "[1]");
  EXPECT_EQ(parse_request("0\n")->document, "");
}

TEST(Request, IsRefusedWhereItIsShorterThanItSaysOrSaysNothing) {
  for (const std::string_view text :
       {"", "1", "3\n{}", "\n{}", "-1\n{}", "2 {}", "2{}1", "99999999999999999999\n{}"}) {
    EXPECT_FALSE(parse_request(text)) << text;
  }
}

}  // namespace
}  // namespace glovebox::checker
