// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/pool_shelf.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace glovebox::keeper {
namespace {

// Pools that cannot start: for a while the shelf does not try one again, so that it asks for a
// description says that it does not know the pool (any more).
class PoolShelfTest : public testing::Test {
 protected:
  // Whether the shelf knew it.
  bool knew(const std::string& tenant, const std::string& root) {
    const TemplateOrder shows{.tenant = tenant, .root = "/not/here/" + root};
    bool asked = false;
    EXPECT_FALSE(shelf_.get({.home = home_, .shows = shows}, [&]() -> Result<PoolSpec> {
      asked = true;
      PoolSpec spec;
      spec.zygote.root = shows.root;
      return spec;
    }));
    return !asked;
  }

  const std::string home_ = "/workspace";
  std::vector<std::string> told_;
  PoolShelf shelf_{[this](const std::string& pool, std::string_view what) {
    told_.push_back(pool + ": " + std::string(what));
  }};
};

TEST_F(PoolShelfTest, OneThatCannotStartIsToldAndCountedOnceForEachTry) {
  EXPECT_FALSE(knew("a", "broken"));
  EXPECT_TRUE(knew("a", "broken"));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_.front().starts_with("pool for a template of tenant a: cannot start: "))
      << told_.front();
  EXPECT_TRUE(told_.front().ends_with("; next try in 15 s at the earliest")) << told_.front();
  EXPECT_EQ(shelf_.failures(), 1U);
  const auto figures = shelf_.figures();
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_TRUE(figures.front().of_template);
  EXPECT_EQ(figures.front().depth.ready, 0U);
}

TEST_F(PoolShelfTest, TwoTenantsShareNoPoolOfOneRoot) {
  EXPECT_FALSE(knew("a", "same"));
  EXPECT_TRUE(knew("a", "same"));
  EXPECT_FALSE(knew("b", "same"));
}

TEST_F(PoolShelfTest, ATenantWithManyTemplatesPushesOutItsOwnAlone) {
  EXPECT_FALSE(knew("b", "only"));
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(knew("a", std::to_string(i)));
  }
  EXPECT_TRUE(knew("b", "only"));
  EXPECT_TRUE(knew("a", "39"));
  EXPECT_FALSE(knew("a", "0"));
}

TEST_F(PoolShelfTest, WhoeverHasMostGivesWhenThereAreTooMany) {
  EXPECT_FALSE(knew("one", "only"));
  for (const char* const tenant : {"a", "b", "c", "d", "e", "f"}) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_FALSE(knew(tenant, std::to_string(i)));
    }
  }
  EXPECT_TRUE(knew("one", "only"));
}

}  // namespace
}  // namespace glovebox::keeper
