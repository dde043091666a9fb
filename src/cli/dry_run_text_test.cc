// SPDX-License-Identifier: Apache-2.0
#include "cli/dry_run_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRun =
    R"({"files":{"added":[{"path":"n\u001b[2J","type":"file","size":5,"diff":"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+\u001b[31mred\n"}],
        "modified":[{"path":"m","type":"file","size":2048,"size_before":1024}],
        "deleted":[{"path":"d","type":"directory","size":0}],"truncated":true},
        "variables":{"added":[{"name":"a","type":"int","value":"1"}],
                     "changed":[{"name":"c","type":"int","value":"2","type_before":"str","value_before":"'x'"}],
                     "removed":[{"name":"r","type":"int","value":"3"}],"truncated":false},
        "processes":[{"pid":7,"command":"sleep 9"}],"hosts":[{"host":"h.example","port":443,"verdict":"denied"}],
        "tool_calls":[{"name":"deploy","arguments":"{}"}]})";

TEST(DryRunTextTest, TellsAllThatHasChanged) {
  const std::string text = dry_run_text(kRun, false);
  for (const char* const line :
       {"M m  1 KiB -> 2 KiB\n", "D d  (directory)\n", "+ a: int 1\n", "~ c: str 'x' -> int 2\n",
        "- r: int 3\n", "left behind: process 7 sleep 9\n",
        "wanted to reach: h.example:443 (denied)\n", "wanted to call: deploy {}\n",
        "more files differ", "@@ -0,0 +1 @@\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(DryRunTextTest, LetsNoControlSequenceOfTheGuestsThrough) {
  EXPECT_THAT(dry_run_text(kRun, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(dry_run_text(kRun, true), Not(HasSubstr("\x1b[2J")));
}

TEST(DryRunTextTest, SaysThatNothingHasChanged) {
  EXPECT_EQ(dry_run_text("{}", false), "nothing has changed\n");
  EXPECT_EQ(dry_run_text("no JSON", false), "nothing has changed\n");
}

}  // namespace
}  // namespace glovebox::cli
