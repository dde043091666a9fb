// SPDX-License-Identifier: Apache-2.0
#include "spec/json/bounded_json.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/json/json.h"

namespace glovebox {
namespace {

using nlohmann::json;

std::string list_of(std::size_t count, const std::string& item) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",") + item;
  }
  return text + "]";
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(BoundedJsonTest, WhatItReadsIsWhatJsonSays) {
  for (const char* text :
       {"{}", "[]", "null", "true", "-7", "18446744073709551615", "1.5e3", R"("a\u00e9\n")",
        R"({"a":[1,{"b":null},[],"x"],"c":{"d":{}}})", R"([[[1],2],{"":""}])"}) {
    const auto parsed = parse_json(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, json::parse(text)) << text;
  }
}

TEST(BoundedJsonTest, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", " ", "{", "[1", "nul", "{\"a\"}", "{\"a\":1,}", "[1] 2", "\"\xff\"",
                           "{'a':1}", "\"\n\"", "01"}) {
    const auto parsed = parse_json(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalid);
  }
}

TEST(BoundedJsonTest, ValuesAreCountedWhereverTheyAre) {
  EXPECT_TRUE(parse_json(list_of(99, "0"), {.values = 100}));
  EXPECT_FALSE(parse_json(list_of(100, "0"), {.values = 100}));
  EXPECT_FALSE(parse_json(list_of(60, "[]"), {.values = 60}));
  EXPECT_FALSE(parse_json(R"({"a":0,"b":0,"c":0})", {.values = 6}));
  EXPECT_TRUE(parse_json(R"({"a":0,"b":0,"c":0})", {.values = 7}));
}

TEST(BoundedJsonTest, DepthIsBounded) {
  EXPECT_TRUE(parse_json(nested(32)));
  EXPECT_FALSE(parse_json(nested(33)));
  EXPECT_FALSE(parse_json(std::string(10UL << 20, '[')));
}

TEST(BoundedJsonTest, ANameThatIsThereTwiceIsRefused) {
  EXPECT_FALSE(parse_json(R"({"a":1,"b":2,"a":1})"));
  EXPECT_FALSE(parse_json(R"({"x":[{"a":1,"\u0061":2}]})"));
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":2}])"));
}

TEST(BoundedJsonTest, ManyLargeTextsAtOnceAreAllRead) {
  const std::string text = "\"" + std::string(9UL << 20, 'x') + "\"";
  std::vector<std::jthread> threads;
  std::atomic<int> read = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { read += parse_json(text) ? 1 : 0; });
  }
  threads.clear();
  EXPECT_EQ(read, 8);
}

}  // namespace
}  // namespace glovebox
