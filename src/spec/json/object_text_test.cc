// SPDX-License-Identifier: Apache-2.0
#include "spec/json/object_text.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/json/json.h"

namespace glovebox {
namespace {

TEST(ObjectTextTest, MembersStandInTheOrderInWhichTheyWereAdded) {
  ObjectText text;
  text.add("z", "text").add("a", true).add("n", -7).add("big", ~std::uint64_t{0});
  text.add_null("none").add_text("list", "[1,2]");

  EXPECT_EQ(text.take(),
            R"({"z":"text","a":true,"n":-7,"big":18446744073709551615,"none":null,"list":[1,2]})");
  EXPECT_EQ(ObjectText().take(), "{}");
}

TEST(ObjectTextTest, AStringIsWrittenAsTheLibraryWritesIt) {
  std::string every;
  for (char c = 0; c < 127; ++c) {
    every += c;
  }
  for (const std::string& text : {every, std::string("ü€😀\x7f"), std::string("\"\"\\"),
                                  std::string("plain\n"), std::string()}) {
    EXPECT_EQ(quoted_json(text), nlohmann::json(text).dump());
  }
}

TEST(ObjectTextTest, WhatIsNoUtf8BecomesReplacementCharacters) {
  EXPECT_EQ(quoted_json("a\xff\"z"), "\"a\xEF\xBF\xBD\\\"z\"");
}

TEST(ObjectTextTest, ANameIsQuotedLikeAText) {
  ObjectText text;
  text.add("a\"b", 1);
  EXPECT_EQ(text.take(), R"({"a\"b":1})");
}

TEST(ObjectTextTest, AFractionIsReadBackAsItWas) {
  for (const double value : {0.0, 1.0, -12.345, 0.1, 1e300, 5e-324, 123456789.25}) {
    ObjectText text;
    text.add("v", value);
    const auto read = nlohmann::json::parse(text.take());
    EXPECT_TRUE(read["v"].is_number_float()) << value;
    EXPECT_EQ(read["v"].get<double>(), value);
  }
}

TEST(ObjectTextTest, WhatJsonHasNoNumberForIsNull) {
  ObjectText text;
  text.add("nan", std::numeric_limits<double>::quiet_NaN())
      .add("inf", std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.take(), R"({"nan":null,"inf":null})");
}

}  // namespace
}  // namespace glovebox
