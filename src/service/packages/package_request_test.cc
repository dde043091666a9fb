// SPDX-License-Identifier: Apache-2.0
#include "service/packages/package_request.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> specifiers(const std::vector<std::string>& texts) {
  const auto requests = parse_packages(texts);
  if (!requests) {
    return {"refused: " + requests.error().message()};
  }
  std::vector<std::string> answer;
  for (const PackageRequest& request : requests.value()) {
    answer.push_back(std::string(to_string(request.manager)) + " " + request.specifier());
  }
  return answer;
}

TEST(PackageRequestTest, HasANameAndMayHaveAVersion) {
  EXPECT_THAT(specifiers({"pip:six,npm:left-pad"}), ElementsAre("pip six", "npm left-pad"));
  EXPECT_THAT(specifiers({"pip:six==1.16.0", "npm:left-pad@1.3.0-rc.1"}),
              ElementsAre("pip six==1.16.0", "npm left-pad@1.3.0-rc.1"));
}

TEST(PackageRequestTest, TakesTheScopeOfAnNpmPackageForNoVersion) {
  EXPECT_THAT(specifiers({"npm:@types/node"}), ElementsAre("npm @types/node"));
  EXPECT_THAT(specifiers({"npm:@types/node@20.1.0"}), ElementsAre("npm @types/node@20.1.0"));
}

TEST(PackageRequestTest, IsTheSameHoweverAPipNameIsSpelt) {
  EXPECT_THAT(specifiers({"pip:Foo_Bar", "pip:foo--bar", "pip:foo.bar"}),
              ElementsAre("pip foo-bar"));
}

TEST(PackageRequestTest, DoesNotDependOnTheOrder) {
  EXPECT_EQ(specifiers({"pip:b,npm:c", "pip:a"}), specifiers({"npm:c,pip:a,pip:b"}));
}

TEST(PackageRequestTest, IsRefusedWhereTwoVersionsOfOnePackageAreWanted) {
  EXPECT_FALSE(parse_packages({"pip:six==1.0", "pip:six==2.0"}));
  EXPECT_FALSE(parse_packages({"npm:a,npm:a@1.0.0"}));
}

TEST(PackageRequestTest, IsNeverAnOptionAPathOrAnAddress) {
  for (const std::string text : {"pip:--index-url=http://example.com",
                                 "pip:-r",
                                 "pip:-",
                                 "pip:./x.whl",
                                 "pip:/x",
                                 "pip:..",
                                 "pip:a/b",
                                 "pip:https://example.com/x.whl",
                                 "pip:a @ file:///x",
                                 "pip:git+https://x",
                                 "npm:--registry=x",
                                 "npm:../x",
                                 "npm:.",
                                 "npm:@",
                                 "npm:@a",
                                 "npm:@a/",
                                 "npm:@/b",
                                 "npm:@../b",
                                 "npm:a/b",
                                 "npm:@a/b/c",
                                 "npm:a@file:x",
                                 "npm:a@../x",
                                 "npm:a@http://x",
                                 "npm:a@npm:b"}) {
    const auto requests = parse_packages({text});
    ASSERT_FALSE(requests) << text;
    EXPECT_EQ(requests.error().code(), ErrorCode::kInvalid);
    EXPECT_THAT(requests.error().hint(), Not(IsEmpty()));
  }
}

TEST(PackageRequestTest, HasNoVersionRangeAndNothingThatAShellKnows) {
  for (const std::string text :
       {"pip:six>=1.0", "pip:six==",    "pip:six==1.*", "pip:six==-1", "pip:six; rm",
        "pip:$(x)",     "pip:a b",      "pip:a\nb",     "pip:",        "npm:",
        "npm:a@",       "npm:a@^1.0.0", "npm:a@latest", "npm:a@*",     "",
        "six",          "gem:rake",     "pip:a,",       ",pip:a",      "pip:a,,pip:b"}) {
    EXPECT_FALSE(parse_packages({text})) << text;
  }
  EXPECT_FALSE(parse_packages({"pip:" + std::string(1'000, 'a')}));
  EXPECT_FALSE(parse_packages({std::string("pip:a\0b", 7)}));
}

TEST(PackageRequestTest, MayBeOneOfManyButNotOfAnyNumber) {
  std::string many = "pip:a0";
  for (int i = 1; i < 1'000; ++i) {
    many += ",pip:a" + std::to_string(i);
  }
  EXPECT_FALSE(parse_packages({many}));
}

}  // namespace
}  // namespace glovebox
