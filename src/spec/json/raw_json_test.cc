// SPDX-License-Identifier: Apache-2.0
#include "spec/json/raw_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(RawJsonTest, AMemberStandsAsItWasWritten) {
  constexpr std::string_view kText = R"( { "a" : {"z": 1.10, "b": "}\"]"} ,"n":12345678901234567890,
                                        "l":[ ], "t":true})";
  EXPECT_EQ(raw_member(kText, "a"), R"({"z": 1.10, "b": "}\"]"})");
  EXPECT_EQ(raw_member(kText, "n"), "12345678901234567890");
  EXPECT_EQ(raw_member(kText, "l"), "[ ]");
  EXPECT_EQ(raw_member(kText, "t"), "true");
  EXPECT_EQ(raw_member(kText, "z"), std::nullopt) << "of an inner object";
  EXPECT_EQ(raw_member("[1]", "a"), std::nullopt);
  EXPECT_EQ(raw_member("{}", "a"), std::nullopt);
}

TEST(RawJsonTest, MembersComeInOrderWithTheirNamesAsWritten) {
  EXPECT_THAT(
      raw_members(R"({ "b\"" : "\\\\", "a":{"x":"\\\""} , "b":-0.0e5})"),
      ElementsAre(Pair(R"(b\")", R"("\\\\")"), Pair("a", R"({"x":"\\\""})"), Pair("b", "-0.0e5")));
  EXPECT_THAT(raw_members("[]"), IsEmpty());
}

TEST(RawJsonTest, TheItemsOfAnArrayComeInOrder) {
  EXPECT_THAT(raw_items(R"( [1, "a,]", [2,[3]] ,{"x":[4]}] )"),
              ElementsAre("1", R"("a,]")", "[2,[3]]", R"({"x":[4]})"));
  EXPECT_THAT(raw_items("[]"), IsEmpty());
  EXPECT_THAT(raw_items("{}"), IsEmpty());
}

TEST(RawJsonTest, CompactTextIsInOneLineAndKeepsItsStrings) {
  EXPECT_EQ(compact_json("{ \"a b\" :\n [ 1 ,\t\"x \\\" y\" ] }\r\n"), R"({"a b":[1,"x \" y"]})");
}

TEST(RawJsonTest, WhatIsNoJsonDoesNotLeadAstray) {
  for (const std::string_view text : {"", "{", "[", R"({")", R"({"a)", R"({"a\)", R"({"a":)",
                                      R"({"a":[)", "[1", "[,", "[}", "{]", R"({"a"})", "\"\\"}) {
    (void)raw_member(text, "a");
    (void)raw_members(text);
    (void)raw_items(text);
    (void)compact_json(text);
  }
}

}  // namespace
}  // namespace glovebox
