// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/url.h"

#include <gtest/gtest.h>

#include "doors/rest/file_answer.h"
#include "doors/rest/routes.h"

namespace glovebox::rest {
namespace {

using Texts = std::vector<std::string>;

TEST(UrlTest, SegmentsAreSplitBeforeTheyAreDecoded) {
  const auto target = parse_target("/a%2Fb//c?x=1+2&y=%26&z");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (Texts{"a/b", "", "c"}));
  EXPECT_EQ(target->query,
            (std::map<std::string, std::string>{{"x", "1 2"}, {"y", "&"}, {"z", ""}}));
}

TEST(UrlTest, WhatIsMalformedIsRefused) {
  for (const char* text : {"/%", "/%4", "/%zz", "/%00", "/?a=%", "/?a=1&a=2"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
  std::string deep;
  for (int i = 0; i < 1'000; ++i) {
    deep += "/a";
  }
  EXPECT_FALSE(parse_target(deep));
}

TEST(UrlTest, PatternsMatchWholePaths) {
  const Texts file = {"v1", "sandboxes", "x", "files", "", "etc", "passwd"};
  const auto matched = match("/v1/sandboxes/{id}/files/{path*}", file);
  ASSERT_TRUE(matched);
  EXPECT_EQ(*matched, (Texts{"x", "/etc/passwd"}));
  EXPECT_FALSE(match("/v1/sandboxes/{id}", file));
  EXPECT_FALSE(match("/v1/sandboxes/{id}", Texts{"v1", "sandboxes", ""}));
  EXPECT_FALSE(match("/v1/sandboxes/{id}", Texts{"v1", "sandboxes"}));
}

TEST(RangeTest, IsReadAsTheRfcSays) {
  struct Case {
    const char* text;
    RangeKind kind;
    std::uint64_t offset;
    std::uint64_t length;
  };
  for (const Case& expected :
       {Case{"bytes=0-4", RangeKind::kPart, 0, 5}, Case{"bytes=5-", RangeKind::kPart, 5, 5},
        Case{"bytes=-3", RangeKind::kPart, 7, 3}, Case{"bytes=-99", RangeKind::kPart, 0, 10},
        Case{"bytes=8-99", RangeKind::kPart, 8, 2},
        Case{"bytes=10-", RangeKind::kUnsatisfiable, 0, 0},
        Case{"bytes=-0", RangeKind::kUnsatisfiable, 10, 0},
        Case{"bytes=4-2", RangeKind::kWhole, 0, 0}, Case{"bytes=0-1,3-4", RangeKind::kWhole, 0, 0},
        Case{"lines=0-1", RangeKind::kWhole, 0, 0}, Case{"bytes=a-b", RangeKind::kWhole, 0, 0}}) {
    ByteRange range;
    EXPECT_EQ(parse_range(expected.text, 10, range), expected.kind) << expected.text;
    EXPECT_EQ(range.offset, expected.offset) << expected.text;
    EXPECT_EQ(range.length, expected.length) << expected.text;
  }
}

}  // namespace
}  // namespace glovebox::rest
