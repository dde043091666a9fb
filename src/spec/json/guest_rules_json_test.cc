// SPDX-License-Identifier: Apache-2.0
#include "spec/json/guest_rules_json.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(GuestRulesJsonTest, RulesComeBackAsTheyWere) {
  const ExecRules exec{.lists = {{.refuse = {"nc"}, .allow = {"python3*"}, .others = false}},
                       .written = false};
  const PlaceRules write{.everywhere = false, .places = {"/tmp/", "out/"}};
  const PlaceRules read{.everywhere = false, .places = {"src/"}, .closed = {"src/key"}};
  for (const GuestRules& rules :
       {GuestRules{.exec = exec}, GuestRules{.write = write},
        GuestRules{.exec = exec, .write = write}, GuestRules{.write = {.everywhere = false}},
        GuestRules{.write = {.closed = {".env", ".git/hooks/"}}}, GuestRules{.read = read},
        GuestRules{.exec = exec, .write = write, .read = read},
        GuestRules{.read = {.closed = {".env"}}}, GuestRules{}}) {
    EXPECT_EQ(read_stored_guest_rules(to_json(rules)), rules);
  }
}

TEST(GuestRulesJsonTest, RulesThatCannotBeReadLetNothingStartAndNoFileBeReadOrWritten) {
  for (const char* const text :
       {"x", "[]", "{}", R"({"written":true})", R"({"written":true,"lists":[1]})",
        R"({"written":true,"lists":[{"refuse":[""],"allow":[],"others":true}]})",
        R"({"written":true,"lists":[],"write":1})",
        R"({"written":true,"lists":[],"write":["../x"]})",
        R"({"written":true,"lists":[],"closed":["/etc/"]})",
        R"({"written":true,"lists":[],"closed":["./"]})",
        R"({"written":true,"lists":[],"read":{}})",
        R"({"written":true,"lists":[],"hidden":["/x"]})",
        R"({"written":true,"lists":[],"closed":["a/b/c/d/e/f/g/h/i/j"]})"}) {
    const GuestRules rules = read_stored_guest_rules(text);
    const std::vector<std::string> names = {"true"};
    EXPECT_FALSE(rules.exec.lets_start(names)) << text;
    EXPECT_FALSE(rules.exec.written) << text;
    EXPECT_FALSE(rules.write.everywhere) << text;
    EXPECT_TRUE(rules.write.places.empty()) << text;
    EXPECT_FALSE(rules.read.everywhere) << text;
    EXPECT_TRUE(rules.read.places.empty()) << text;
  }
}

}  // namespace
}  // namespace glovebox
