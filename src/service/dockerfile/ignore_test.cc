// SPDX-License-Identifier: Apache-2.0
#include "service/dockerfile/ignore.h"

#include <gtest/gtest.h>

namespace glovebox::dockerfile {
namespace {

bool ignored(std::string_view rules, std::string_view path) {
  return IgnoreRules::parse(rules)->ignores(path);
}

TEST(DockerfileIgnoreTest, PatternsBeginAtTheTop) {
  EXPECT_TRUE(ignored("*.log", "a.log"));
  EXPECT_FALSE(ignored("*.log", "below/a.log"));
  EXPECT_TRUE(ignored("/below/*.log\n", "below/a.log"));
  EXPECT_FALSE(ignored("# a.log\n\n", "a.log"));
}

TEST(DockerfileIgnoreTest, ADirectoryTakesAllBelowIt) {
  EXPECT_TRUE(ignored("node_modules/", "node_modules/a/b"));
  EXPECT_FALSE(ignored("node_modules", "node_modules2"));
}

TEST(DockerfileIgnoreTest, TwoStarsStandForAnyDirectories) {
  EXPECT_TRUE(ignored("**/*.pyc", "a.pyc"));
  EXPECT_TRUE(ignored("**/*.pyc", "x/y/a.pyc"));
  EXPECT_TRUE(ignored("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(ignored("a/**/b", "a/x/y/c"));
}

TEST(DockerfileIgnoreTest, TheLastPatternThatMatchesDecides) {
  const std::string rules = "*\n!src\nsrc/secret\n";
  EXPECT_TRUE(ignored(rules, "README"));
  EXPECT_FALSE(ignored(rules, "src/a.c"));
  EXPECT_TRUE(ignored(rules, "src/secret"));
  EXPECT_TRUE(IgnoreRules::parse(rules)->has_exceptions());
}

TEST(DockerfileIgnoreTest, TheNumberOfPatternsIsBounded) {
  std::string many;
  for (int i = 0; i < 1'001; ++i) {
    many += "a\n";
  }
  EXPECT_FALSE(IgnoreRules::parse(many));
}

}  // namespace
}  // namespace glovebox::dockerfile
