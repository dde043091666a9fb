// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AgentProfiles, ThatAreShippedHaveAKeyForHostsOfTheirOwn) {
  std::vector<std::string> names;
  for (const AgentProfile& each : shipped_agents()) {
    names.push_back(each.name);
    ASSERT_FALSE(each.keys.empty()) << each.name;
    EXPECT_FALSE(each.keys.front().hosts.empty()) << each.name;
    EXPECT_FALSE(each.description.empty()) << each.name;
  }
  EXPECT_THAT(names, ElementsAre("claude", "codex"));
}

TEST(AgentProfiles, AreRefusedWithTheFieldThatIsWrong) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"", "command"},
      {"command = 'x'", "command"},
      {"command = ['x']\nhost = ['a']", "host"},
      {"command = ['x']\n[[keys]]\nhosts = ['a']", "keys.variable"},
      {"command = ['x']\n[[keys]]\nvariable = 'A'", "keys.hosts"},
      {"command = ['x']\n[env]\nA = 1", "env.A"},
      {"command = ['x']\nsetup = ['y']", "setup"},
  };
  for (const auto& [text, field] : wrong) {
    const auto profile = parse_agent_profile("p", text);
    ASSERT_FALSE(profile) << text;
    EXPECT_THAT(profile.error().message(), HasSubstr(field)) << text;
  }
}

TEST(AgentProfiles, ThatDoNotExistAreNamedWithTheNearest) {
  const auto profile = find_agent_profile("cluade");
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().hint(), HasSubstr("'claude'"));
}

}  // namespace
}  // namespace glovebox::cli
