// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doors/e2b/list_routes.h"

namespace glovebox::e2b {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(TargetTest, SplitsThePathBeforeItDecodesIt) {
  const auto target = parse_target("/templates/ns%2Fsnap%3Adefault?a=1&b=x+y%26");

  ASSERT_TRUE(target);
  EXPECT_THAT(target->segments, ElementsAre("templates", "ns/snap:default"));
  EXPECT_THAT(target->query, ElementsAre(Pair("a", "1"), Pair("b", "x y&")));
}

TEST(TargetTest, RefusesBrokenEncodingAndTooManySegments) {
  EXPECT_FALSE(parse_target("/a%2"));
  EXPECT_FALSE(parse_target("/a?b=%zz"));
  EXPECT_FALSE(parse_target("http://elsewhere/"));
  EXPECT_FALSE(parse_target("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"));
}

TEST(MetadataTest, UndoesEachOfTheClientsEncodings) {
  // {"k y": "v&1"} as SDK 2.51.0 sends it.
  const auto form = parse_form("metadata=k%252520y%3Dv%2525261");
  ASSERT_TRUE(form);

  const auto metadata = parse_metadata(form->at("metadata"));

  ASSERT_TRUE(metadata);
  EXPECT_THAT(*metadata, ElementsAre(Pair("k y", "v&1")));
}

}  // namespace
}  // namespace glovebox::e2b
