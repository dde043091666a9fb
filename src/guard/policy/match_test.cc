// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/match.h"

#include <gtest/gtest.h>

namespace glovebox::policy {
namespace {

RuleList refusing(std::vector<std::string> patterns) {
  RuleList list;
  for (std::string& each : patterns) {
    list.entries.push_back({.pattern = std::move(each), .action = Action::kRefuse});
  }
  return list;
}

bool refuses_command(const std::string& pattern, const std::vector<std::string>& argv) {
  return match_command(refusing({pattern}), argv).action == Action::kRefuse;
}

TEST(MatchTest, ANameCoversWhatLiesBelowItAndNotWhatBeginsAlike) {
  const RuleList list = refusing({"os"});
  EXPECT_EQ(match_name(list, "os").action, Action::kRefuse);
  EXPECT_EQ(match_name(list, "os.path").action, Action::kRefuse);
  EXPECT_EQ(match_name(list, "ossaudiodev").action, Action::kAllow);
}

TEST(MatchTest, TheMostSpecificEntryWinsAndOfEqualOnesTheStrictest) {
  RuleList list = refusing({"os"});
  list.entries.push_back({.pattern = "os.path", .action = Action::kAllow});
  list.entries.push_back({.pattern = "os.path", .action = Action::kAsk});
  EXPECT_EQ(match_name(list, "os.path.join").action, Action::kAsk);
  EXPECT_EQ(match_name(list, "os.system").action, Action::kRefuse);
}

TEST(MatchTest, WhatNoEntryMatchesGetsOtherwise) {
  RuleList list;
  list.otherwise = Action::kAsk;
  EXPECT_EQ(match_name(list, "anything").action, Action::kAsk);
  EXPECT_EQ(match_name(list, "anything").entry, nullptr);
}

TEST(MatchTest, ACommandIsKnownHoweverItsOptionsAreWritten) {
  for (const std::vector<std::string>& argv :
       std::vector<std::vector<std::string>>{{"rm", "-rf", "/"},
                                             {"rm", "-r", "-f", "/"},
                                             {"/bin/rm", "/", "-fr"},
                                             {"rm", "--recursive", "--force", "/"},
                                             {"rm", "-Rf", "--", "/"},
                                             {"rm", "-rf", "//"},
                                             {"rm", "-rf", "/."},
                                             {"rm", "-rf", "/etc/.."},
                                             {"rm", "-rf", "/*"},
                                             {"rm", "-rvf", "x", "/"}}) {
    EXPECT_TRUE(refuses_command("rm -rf /", argv)) << argv.at(1);
  }
  for (const std::vector<std::string>& argv :
       std::vector<std::vector<std::string>>{{"rm", "-rf", "build"},
                                             {"rm", "/tmp/x"},
                                             {"rm", "-f", "/"},
                                             {"echo", "rm", "-rf", "/"},
                                             {"rm", "-rf", "./"}}) {
    EXPECT_FALSE(refuses_command("rm -rf /", argv)) << argv.at(1);
  }
}

TEST(MatchTest, ALongOptionIsFoundWithAndWithoutItsValue) {
  EXPECT_TRUE(refuses_command("curl --output", {"curl", "--output=x", "u"}));
  EXPECT_TRUE(refuses_command("git push --force", {"git", "push", "-f"}));
  EXPECT_FALSE(refuses_command("curl --output", {"curl", "--outputs", "u"}));
}

TEST(MatchTest, OfSeveralEntriesForACommandTheStrictestCounts) {
  RuleList list = refusing({"rm -r /"});
  list.entries.push_back({.pattern = "rm -r / build", .action = Action::kAllow});
  EXPECT_EQ(match_command(list, {"rm", "-r", "/", "build"}).action, Action::kRefuse);
}

TEST(MatchTest, APathIsComparedWithoutWhatOnlyDisguisesIt) {
  const RuleList list = refusing({"/etc/**", ".git/hooks/*", "../*"});
  for (const char* const path :
       {"/etc/passwd", "//etc/passwd", "/tmp/../etc/passwd", "/etc/./shadow", ".git/hooks/x",
        "a/../.git//hooks/x", "../x", "a/../../x", "/workspace/.git/hooks/x", "/etc"}) {
    EXPECT_EQ(match_path(list, path).action, Action::kRefuse) << path;
  }
  for (const char* const path : {"etc/passwd", "src/main.c", "a/../b", "/etcetera"}) {
    EXPECT_EQ(match_path(list, path).action, Action::kAllow) << path;
  }
}

TEST(MatchTest, AHostIsComparedWithoutItsLastDot) {
  const RuleList list = refusing({"*.example.com"});
  EXPECT_EQ(match_host(list, "a.example.com.").action, Action::kRefuse);
  EXPECT_EQ(match_host(list, "example.org").action, Action::kAllow);
}

}  // namespace
}  // namespace glovebox::policy
