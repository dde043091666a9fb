// SPDX-License-Identifier: Apache-2.0
#include "service/templates/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "base/json/json.h"
#include "service/templates/recipe_toml.h"

namespace glovebox {
namespace {

using testing::HasSubstr;

Recipe named() {
  Recipe recipe;
  recipe.name = "a";
  return recipe;
}

TEST(RecipeTest, APlainOneIsValid) { EXPECT_TRUE(validate(named())); }

TEST(RecipeTest, WhatCanNotBeIsRefusedByName) {
  const std::vector<std::pair<const char*, std::function<void(Recipe&)>>> wrong = {
      {"name", [](Recipe& r) { r.name = "a/b"; }},
      {"name", [](Recipe& r) { r.name = ".a"; }},
      {"name", [](Recipe& r) { r.name = std::string(129, 'a'); }},
      {"home", [](Recipe& r) { r.home = "/home/.."; }},
      {"home", [](Recipe& r) { r.home = "/etc"; }},
      {"user", [](Recipe& r) { r.user = "root"; }},
      {"user", [](Recipe& r) { r.user = "a:b"; }},
      {"suite", [](Recipe& r) { r.debootstrap = Debootstrap{.suite = "--help"}; }},
      {"mirror",
       [](Recipe& r) { r.debootstrap = Debootstrap{.suite = "s", .mirror = "file:///"}; }},
      {"mirror",
       [](Recipe& r) { r.debootstrap = Debootstrap{.suite = "s", .mirror = "http://a b"}; }},
      {"packages",
       [](Recipe& r) { r.debootstrap = Debootstrap{.suite = "s", .packages = {"a,b"}}; }},
      {"base", [](Recipe& r) { r.image = ImageFile{.path = "relative"}; }},
      {"base", [](Recipe& r) { r.image = ImageFile{.path = "/a/../b"}; }},
      {"package_sources",
       [](Recipe& r) {
         r.packages = {"pip:a"};
         r.package_sources = {"b"};
       }},
      {"preload", [](Recipe& r) { r.preload = {"os; import sys"}; }},
      {"files", [](Recipe& r) { r.steps = {{.kind = RecipeStep::Kind::kFile, .path = "../a"}}; }},
      {"commands", [](Recipe& r) { r.steps = {{.kind = RecipeStep::Kind::kCommand}}; }},
      {"commands",
       [](Recipe& r) {
         r.steps = {{.kind = RecipeStep::Kind::kCommand, .text = std::string("a\0b", 3)}};
       }},
      {"start", [](Recipe& r) { r.start = std::string(1UL << 20, 'a'); }},
  };
  for (const auto& [field, spoil] : wrong) {
    Recipe recipe = named();
    spoil(recipe);
    const auto checked = validate(recipe);
    ASSERT_FALSE(checked) << field;
    EXPECT_THAT(checked.error().message(), HasSubstr(field));
  }
}

TEST(RecipeTest, PackagesTakeASource) {
  Recipe recipe = named();
  recipe.packages = {"pip:six"};
  ASSERT_FALSE(validate(recipe));
  EXPECT_EQ(validate(recipe).error().code(), ErrorCode::kRefused);
}

TEST(RecipeTest, WhatReadsTheHostTakesItsOperator) {
  EXPECT_FALSE(takes_admin(named()));
  Recipe recipe = named();
  recipe.debootstrap = Debootstrap{.suite = "bookworm"};
  EXPECT_FALSE(takes_admin(recipe));
  recipe.image = ImageFile{.path = "/a"};
  EXPECT_TRUE(takes_admin(recipe));
  recipe = named();
  recipe.package_sources = {"/a"};
  EXPECT_TRUE(takes_admin(recipe));
}

TEST(RecipeTest, TomlBecomesTheJsonOfTheApi) {
  const auto json = recipe_json_from_toml(R"(
name = "data"
commands = ["true"]
[base.debootstrap]
suite = "bookworm"
packages = ["python3"]
[[files]]
path = "a"
content = "b"
[limits]
cpus = 1.5
pids = 10
)");
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(nlohmann::json::parse(*json), nlohmann::json::parse(R"({
    "name": "data", "commands": ["true"],
    "base": {"debootstrap": {"suite": "bookworm", "packages": ["python3"]}},
    "files": [{"path": "a", "content": "b"}], "limits": {"cpus": 1.5, "pids": 10}})"));
}

TEST(RecipeTest, TheExampleIsValid) {
  std::ifstream file(GB_EXAMPLES "/templates/data-science.toml");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto json = recipe_json_from_toml(text);
  ASSERT_TRUE(json) << json.error().message();
  const auto read = nlohmann::json::parse(*json);
  const auto& base = read.at("base").at("debootstrap");
  Recipe recipe = named();
  recipe.debootstrap = Debootstrap{.suite = base.at("suite"), .packages = base.at("packages")};
  recipe.preload = read.at("preload");
  EXPECT_TRUE(validate(recipe));
  EXPECT_THAT(recipe.debootstrap->packages,
              testing::IsSupersetOf({"python3-ipython", "python3-tqdm"}));
}

TEST(RecipeTest, TheOneForCodingAgentsNeedsTheirPackagesAndNothingElse) {
  std::ifstream file(GB_EXAMPLES "/templates/agent.toml");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto json = recipe_json_from_toml(text);
  ASSERT_TRUE(json) << json.error().message();
  const auto read = nlohmann::json::parse(*json);
  const auto& base = read.at("base").at("debootstrap");
  Recipe recipe = named();
  recipe.debootstrap = Debootstrap{.suite = base.at("suite"), .packages = base.at("packages")};
  recipe.packages = read.at("packages");
  EXPECT_FALSE(validate(recipe));
  recipe.package_sources = {"/archives"};
  EXPECT_TRUE(validate(recipe));
  EXPECT_THAT(recipe.debootstrap->packages, testing::IsSupersetOf({"git", "nodejs", "npm"}));
}

TEST(RecipeTest, ADockerfileIsRecognized) {
  for (const char* const text : {"FROM debian:12\nRUN true\n", "# syntax\n\nARG A=1\nfrom x"}) {
    const auto json = recipe_json_from_toml(text);
    ASSERT_FALSE(json) << text;
    EXPECT_THAT(json.error().message(), HasSubstr("Dockerfile")) << text;
    EXPECT_THAT(json.error().hint(), HasSubstr("template build -t NAME DIR")) << text;
  }
  EXPECT_TRUE(recipe_json_from_toml("# comment\nfrom = 'a'"));
}

TEST(RecipeTest, WhatIsNoTomlIsRefusedWithItsPlace) {
  for (const char* const text : {"name = ", "[}", "a = 2020-01-01"}) {
    const auto json = recipe_json_from_toml(text);
    ASSERT_FALSE(json) << text;
    EXPECT_THAT(json.error().message(), HasSubstr("line 1")) << text;
  }
  EXPECT_FALSE(recipe_json_from_toml("a = " + std::string(5'000, '[')));
}

}  // namespace
}  // namespace glovebox
