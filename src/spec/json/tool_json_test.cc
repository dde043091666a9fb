// SPDX-License-Identifier: Apache-2.0
#include "spec/json/tool_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using testing::HasSubstr;

ToolOffer offer_of(std::vector<std::string> names) {
  ToolOffer offer;
  for (std::string& name : names) {
    offer.tools.push_back({.name = std::move(name)});
  }
  return offer;
}

TEST(ToolJsonTest, SchemasKeepTheirOrder) {
  constexpr std::string_view kText =
      R"([{"parameters": {"type":"object","properties":{"z":{},"a":{}}}, "name":"search",
           "description":"Finds\n\"it\""}, {"name":"stop","description":null}])";
  const auto tools = parse_tools(kText);
  ASSERT_TRUE(tools) << tools.error().message();
  ASSERT_EQ(tools->size(), 2U);
  EXPECT_EQ((*tools)[0].name, "search");
  EXPECT_EQ((*tools)[0].description, "Finds\n\"it\"");
  EXPECT_EQ((*tools)[0].parameters, R"({"type":"object","properties":{"z":{},"a":{}}})");
  EXPECT_EQ((*tools)[1].parameters, "{}");
  EXPECT_EQ(parse_tools(to_json(*tools)).value(), *tools);
}

TEST(ToolJsonTest, WhatIsNoListOfToolsIsRefusedByName) {
  for (const char* const text :
       {"{}", "[1]", R"([{"name":1}])", R"([{"name":"a","parameters":[]}])",
        R"([{"name":"a","strict":true}])", "[", R"([{"description":[]}])"}) {
    const auto tools = parse_tools(text);
    ASSERT_FALSE(tools) << text;
    EXPECT_EQ(tools.error().code(), ErrorCode::kInvalid);
  }
  EXPECT_THAT(parse_tools(R"([{"name":"a","strict":true}])").error().message(),
              HasSubstr("'strict'"));
}

TEST(ToolJsonTest, NamesAreThoseThatCodeCanCall) {
  EXPECT_TRUE(validate(offer_of({"search", "a", "Create_issue-2", std::string(64, 'x')})));
  for (const char* const name : {"", "2x", "_x", "a,b", "a b", "é", "a\n"}) {
    EXPECT_FALSE(validate(offer_of({name}))) << name;
  }
  EXPECT_FALSE(validate(offer_of({std::string(65, 'x')})));
  EXPECT_FALSE(validate(offer_of({"a", "a"})));
  EXPECT_FALSE(validate(offer_of({"a-b", "a_b"}))) << "one name in code";
}

TEST(ToolJsonTest, ToolsMayBeInModules) {
  EXPECT_TRUE(
      validate(offer_of({"mcp.github.create-issue", "mcp.git.search", "search", "m.a.b.c"})));
  EXPECT_TRUE(validate(offer_of({"github.search", "gitlab.search", "a.tools.b", "tools"})));
  for (const char* const name :
       {".", "a.", ".a", "a..b", "a.2", "a.b.c.d.e", "a._b", "a.b\n", "a/b.c", "tools.a"}) {
    EXPECT_FALSE(validate(offer_of({name}))) << name;
  }
  EXPECT_FALSE(validate(offer_of({"a." + std::string(65, 'x')})));
  EXPECT_FALSE(validate(offer_of({"a.b-c", "a.b_c"}))) << "one name in code";
  EXPECT_FALSE(validate(offer_of({"a.b", "a"}))) << "a tool and a module";
  EXPECT_FALSE(validate(offer_of({"a-b", "a_b.c.d"}))) << "a tool and a module";
}

TEST(ToolJsonTest, OffersAreBounded) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= ToolOffer::kMaxTools; ++i) {
    names.push_back("t" + std::to_string(i));
  }
  EXPECT_FALSE(validate(offer_of(names)));
  names.pop_back();
  EXPECT_TRUE(validate(offer_of(names)));

  ToolOffer offer = offer_of({"a"});
  offer.tools[0].description = std::string(ToolOffer::kMaxBytes, 'x');
  EXPECT_FALSE(validate(offer));
  offer = offer_of({"a"});
  for (const char* const schema : {"", "[]", "{", "1", "{\"a\":1,\"a\":2}"}) {
    offer.tools[0].parameters = schema;
    EXPECT_FALSE(validate(offer)) << schema;
  }
  offer.tools[0].parameters = std::string(40, '[') + std::string(40, ']');
  EXPECT_FALSE(validate(offer));
  offer = offer_of({"a"});
  offer.calls = ToolOffer::kMaxCalls + 1;
  EXPECT_FALSE(validate(offer));
  offer.calls = 0;
  offer.wait = ToolOffer::kMaxWait;
  EXPECT_TRUE(validate(offer));
  offer.wait += std::chrono::milliseconds(1);
  EXPECT_FALSE(validate(offer));
}

}  // namespace
}  // namespace glovebox
