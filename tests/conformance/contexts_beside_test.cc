// SPDX-License-Identifier: Apache-2.0
// Warm interpreters beside each other in one realm.
#include "context/agent_files.h"
#include "contexts_fixture.h"
#include "sandbox/tiers/tier.h"

namespace glovebox::conformance {
namespace {

using namespace std::chrono_literals;

class InterpretersBesideEachOther : public Contexts {
 protected:
  // Another Python: which language it is makes no difference.
  [[nodiscard]] static ZygoteSpec other() {
    const std::string agents(kAgentsTarget);
    if (traits_of(GetParam().tier).forks_own_interpreters) {
      return zygote_of_tier({.exactly = GetParam().tier},
                            {"python3", "-B", "-X", "utf8", "./wasm/python.py"})
          .value();
    }
    ZygoteSpec spec;
    spec.program = {"python3", "-B", "-s", agents + "/python/zygote.py"};
    return spec;
  }
};

TEST_P(InterpretersBesideEachOther, HaveForksInOneSandbox) {
  const auto beside = zygote().beside(other());
  ASSERT_TRUE(beside) << beside.error().message();
  EXPECT_NE(beside->get(), &zygote());
  const Live live = make(GetParam());
  const auto second = Context::fork(*live.sandbox, **beside, {});
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(output_of(*live.context, "open('shared', 'w').write('x'); print(1)"), "1");
  EXPECT_EQ(output_of(**second, "print(open('shared').read())"), "x");
}

TEST_P(InterpretersBesideEachOther, AreStartedOnceAndEndWhenNobodyUsesThem) {
  const Live live = make(GetParam());
  auto beside = zygote().beside(other());
  ASSERT_TRUE(beside) << beside.error().message();
  EXPECT_EQ(zygote().beside(other()).value(), beside.value());
  auto second = Context::fork(*live.sandbox, **beside, {});
  ASSERT_TRUE(second) << second.error().message();
  const std::weak_ptr<Zygote> watched = beside.value();
  beside.value().reset();
  zygote().end_idle(0s);
  EXPECT_FALSE(watched.expired()) << "a context is its fork";
  second.value().reset();
  zygote().end_idle(1h);
  EXPECT_FALSE(watched.expired()) << "it has just been asked for";
  zygote().end_idle(0s);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(output_of(*live.context, "print(1)"), "1");
}

GB_FOR_FORKS(InterpretersBesideEachOther);

}  // namespace
}  // namespace glovebox::conformance
