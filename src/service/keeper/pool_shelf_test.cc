// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/pool_shelf.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::keeper {
namespace {

// Pools that cannot start: the shelf does not try one again, so that it asks for a description says
// that it does not know the pool (any more).
class PoolShelfTest : public testing::Test {
 protected:
  // Whether the shelf knew it.
  bool knew(const std::string& tenant, const std::string& root) {
    const TemplateOrder shows{.tenant = tenant, .root = "/not/here/" + root};
    bool asked = false;
    EXPECT_FALSE(shelf_.get("/workspace", shows, [&]() -> Result<PoolSpec> {
      asked = true;
      PoolSpec spec;
      spec.zygote.root = shows.root;
      return spec;
    }));
    return !asked;
  }

  PoolShelf shelf_;
};

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
