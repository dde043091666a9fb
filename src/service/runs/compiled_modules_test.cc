// SPDX-License-Identifier: Apache-2.0
#include "service/runs/compiled_modules.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace glovebox {
namespace {

// Compiles to as many bytes as the number that the code is.
class CompiledModulesTest : public testing::Test {
 protected:
  const std::string* find(const std::string& tenant, const std::string& code) {
    found_ = modules_.find({.tenant = tenant, .sha256 = code}, {}, code);
    modules_.await_idle();
    return found_.get();
  }
  void keep(const std::string& tenant, const std::string& code) {
    (void)find(tenant, code);
    (void)find(tenant, code);
  }

  std::atomic<int> compiled_ = 0;
  CompiledModules modules_{
      [this](const ReadyKind&, const std::string& code, int) -> Result<std::string> {
        ++compiled_;
        if (code == "bad") {
          return Error(ErrorCode::kInvalid, "no module");
        }
        if (code == "later" && compiled_ == 1) {
          return Error(ErrorCode::kUnavailable, "no memory");
        }
        return std::string(code == "later" ? 1 : std::stoul(code), 'x');
      },
      {.all = 100, .of_tenant = 50, .of_one = 40, .known = 8}};
  std::shared_ptr<const std::string> found_;
};

TEST_F(CompiledModulesTest, CompilesWhatIsAskedForTwice) {
  EXPECT_EQ(find("a", "1"), nullptr);
  EXPECT_EQ(compiled_, 0);
  EXPECT_EQ(find("a", "1"), nullptr);
  EXPECT_EQ(compiled_, 1);
  ASSERT_NE(find("a", "1"), nullptr);
  EXPECT_EQ(*found_, "x");
  EXPECT_EQ(compiled_, 1);
}

TEST_F(CompiledModulesTest, GivesATenantNothingThatAnotherCompiled) {
  keep("a", "1");
  EXPECT_EQ(find("b", "1"), nullptr);
}

TEST_F(CompiledModulesTest, DoesNotTryAgainWhatDoesNotCompile) {
  keep("a", "bad");
  EXPECT_EQ(find("a", "bad"), nullptr);
  EXPECT_EQ(compiled_, 1);
}

TEST_F(CompiledModulesTest, TriesAgainWhatFailedForAnotherReason) {
  keep("a", "later");
  EXPECT_EQ(find("a", "later"), nullptr);
  EXPECT_NE(find("a", "later"), nullptr);
}

TEST_F(CompiledModulesTest, KeepsNothingThatIsTooLarge) {
  keep("a", "41");
  EXPECT_EQ(find("a", "41"), nullptr);
  EXPECT_EQ(modules_.bytes(), 0U);
}

TEST_F(CompiledModulesTest, DropsATenantsOwnBeforeThoseOfOthers) {
  keep("b", "30");
  keep("a", "20");
  keep("a", "25");
  keep("a", "30");  // 20 and 25 go.
  EXPECT_EQ(modules_.bytes(), 60U);
  EXPECT_NE(find("b", "30"), nullptr);
  EXPECT_NE(find("a", "30"), nullptr);
  EXPECT_EQ(find("a", "20"), nullptr);
}

TEST_F(CompiledModulesTest, DropsWhatWasUsedLongestAgoWhenAllIsFull) {
  keep("a", "40");
  keep("b", "40");
  ASSERT_NE(find("a", "40"), nullptr);
  keep("c", "30");
  EXPECT_NE(find("a", "40"), nullptr);
  EXPECT_EQ(find("b", "40"), nullptr);
  EXPECT_EQ(modules_.bytes(), 70U);
}

TEST_F(CompiledModulesTest, KnowsABoundedNumber) {
  keep("a", "1");
  for (int i = 2; i < 12; ++i) {
    (void)find("a", std::to_string(i));
  }
  EXPECT_EQ(modules_.bytes(), 0U);
  EXPECT_EQ(find("a", "1"), nullptr);
}

}  // namespace
}  // namespace glovebox
