// SPDX-License-Identifier: Apache-2.0
// Warm analysers: what one program does to its analysis is nothing to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixture.h"
#include "sandbox/tiers/tier.h"
#include "service/keeper/warm_analysers.h"

namespace glovebox::keeper {
namespace {

using testing::HasSubstr;
using testing::Not;

// What code that has taken an analyser over would do to those that come after it.
constexpr const char* kTakesOver = R"py(
import builtins, os, sys
import analysis, python_code, shell_code
analysis.facts_of = python_code.analyse = shell_code.analyse = lambda *a, **k: []
builtins.len = lambda _: 0
sys.path.insert(0, os.getcwd())
for place in {os.getcwd(), *sys.path, os.path.dirname(analysis.__file__), "/tmp", "/dev/shm"}:
    try:
        open(os.path.join(place, "analysis.py"), "w").write("print_facts = lambda units: print([])")
    except OSError:
        pass
for number in (os.getppid(), *(int(n) for n in os.listdir("/proc") if n.isdigit())):
    if number not in (0, 1, os.getpid()):
        try:
            os.kill(number, 9)
        except OSError:
            pass
print("taken over")
)py";
constexpr const char* kAnalyses =
    R"py(__import__("analysis").print_facts('[{"language": "python", "code": "import os"}]'))py";

class WarmAnalysersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/lib/python3/dist-packages/IPython")) {
      GTEST_SKIP() << "python3-ipython is not installed";
    }
    if (!first_choice_can({}, &TierTraits::can_hold_realms)) {
      GTEST_SKIP() << "the tier of this host cannot hold realms";
    }
  }

  static std::string printed_by(LiveContext& live, std::string_view code) {
    auto executed = live.context->execute({.code = code});
    EXPECT_TRUE(executed) << executed.error().message();
    return executed ? executed->out.bytes : std::string();
  }

  std::vector<std::string> told_;
  PoolShelf pools_{[this](const std::string&, std::string_view what) { told_.emplace_back(what); }};
  std::vector<std::function<void()>> jobs_;
  WarmAnalysers analysers_{pools_, [this](auto job) { jobs_.push_back(std::move(job)); }};
};

TEST_F(WarmAnalysersTest, TheFirstClaimAsksForThemAndDoesNotWait) {
  EXPECT_FALSE(analysers_.claim());
  EXPECT_FALSE(analysers_.claim());
  ASSERT_EQ(jobs_.size(), 1U);
  jobs_.front()();
  EXPECT_TRUE(analysers_.claim()) << testing::PrintToString(told_);
}

TEST_F(WarmAnalysersTest, OneThatWasTakenOverHasNoEffectOnTheNext) {
  (void)analysers_.claim();
  jobs_.front()();
  // Among those that wait already, and those that are forked afterwards.
  for (int i = 0; i < 6; ++i) {
    auto victim = analysers_.claim();
    ASSERT_TRUE(victim) << victim.error().message();
    ASSERT_THAT(printed_by(*victim, kTakesOver), HasSubstr("taken over"));
    EXPECT_THAT(printed_by(*victim, kAnalyses), Not(HasSubstr("\"module\"")));
    auto next = analysers_.claim();
    ASSERT_TRUE(next) << next.error().message();
    EXPECT_NE(next->sandbox.get(), victim->sandbox.get());
    EXPECT_THAT(printed_by(*next, kAnalyses), HasSubstr("\"module\""));
    analysers_.discard(*std::move(victim));
    analysers_.discard(*std::move(next));
  }
}

}  // namespace
}  // namespace glovebox::keeper
