// SPDX-License-Identifier: Apache-2.0
#include "language/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Language compiled() {
  Language language;
  language.id = "x";
  language.extensions = {".x", ".xx"};
  language.file_name = "main.x";
  language.compile = {"xc", "-o{stem}", "{dir}/{file}", "{memory_mib}"};
  language.run = {"{dir}/{stem}", "{memory_mib}", "{heap_mib}", "{cpus}"};
  language.env = {{"X_MEMORY", "{memory_mib}MiB"}};
  return language;
}

TEST(LanguageTest, FillsInPlaceholders) {
  Limits run;
  run.memory = 256_MiB;
  run.cpus = 2;
  Limits compile;
  compile.memory = 1_GiB;

  const Plan plan = make_plan(compiled(), {}, {}, run, compile);

  EXPECT_EQ(plan.file_name, "main.x");
  ASSERT_TRUE(plan.compile.has_value());
  EXPECT_THAT(plan.compile->argv, ElementsAre("xc", "-omain", "/workspace/main.x", "1024"));
  EXPECT_THAT(plan.compile->env, ElementsAre(Pair("X_MEMORY", "1024MiB")));
  EXPECT_EQ(plan.compile->cwd, "/workspace");
  EXPECT_THAT(plan.run.argv, ElementsAre("/workspace/main", "256", "192", "2"));
  EXPECT_THAT(plan.run.env, ElementsAre(Pair("X_MEMORY", "256MiB")));
  EXPECT_EQ(plan.run.cwd, "/workspace");
}

TEST(LanguageTest, CountsAtLeastOneProcessor) {
  Limits run;
  run.cpus = 0.25;

  EXPECT_EQ(make_plan(compiled(), {}, {}, run, {}).run.argv.back(), "1");
}

TEST(LanguageTest, AppendsArgumentsUnchanged) {
  const Plan plan = make_plan(compiled(), {}, {"{file}", "-o x"}, {}, {});

  EXPECT_THAT(plan.run.argv, ElementsAre("/workspace/main", "512", "384", "1", "{file}", "-o x"));
}

TEST(LanguageTest, AnAgentHasItsOwnVariablesInPlaceOfTheLanguages) {
  Language language = compiled();
  language.agent = {"agent"};
  language.env = {{"A", "1"}, {"B", "{cpus}"}};
  language.agent_env = {{"A", "{agents}"}};
  const Command command = make_agent_command(language, "/agents", Limits{.cpus = 2});
  EXPECT_THAT(command.env, UnorderedElementsAre(Pair("A", "/agents"), Pair("B", "2")));
}

TEST(LanguageTest, LeavesOutTheCompileStepOfInterpreters) {
  Language language = compiled();
  language.compile.clear();

  EXPECT_FALSE(make_plan(language, {}, {}, {}, {}).compile.has_value());
}

TEST(LanguageTest, KeepsAnEndingOfTheUsersThatTheLanguageKnows) {
  const auto name_for = [](std::string_view user) {
    return make_plan(compiled(), {.code = "", .name = user}, {}, {}, {}).file_name;
  };

  EXPECT_EQ(name_for("some/where.d/a.xx"), "main.xx");
  EXPECT_EQ(name_for("a.y"), "main.x");
  EXPECT_EQ(name_for("dir.xx/a"), "main.x");
  EXPECT_EQ(name_for(""), "main.x");
  EXPECT_EQ(name_for("-"), "main.x");
}

TEST(PlanTest, ScriptsKeepTheirName) {
  Language script;
  script.file_name = "main.x";
  script.extensions = {".x", ".xx"};
  script.run = {"x", "{file}"};
  const auto name_for = [&script](const char* user) {
    return make_plan(script, {.code = "", .name = user}, {}, {}, {}).file_name;
  };
  EXPECT_EQ(name_for("some/where.d/fetch-all.v2.xx"), "fetch-all.v2.xx");
  EXPECT_EQ(name_for("tool"), "tool.x");
  EXPECT_EQ(name_for("a.y"), "a.x");
  for (const char* const odd :
       {"", "-", "-rf.x", ".x", "a b.x", "a\nb.x", "$(id).x", "*.x", "\xff.x"}) {
    EXPECT_EQ(name_for(odd), "main.x") << odd;
  }
  EXPECT_EQ(name_for((std::string(101, 'a') + ".x").c_str()), "main.x");
}

TEST(PlanTest, ACompilerMayNameTheUsersFileAndMakesWhatItAlwaysMakes) {
  Language language = compiled();
  language.naming = SourceNaming::kOwn;
  const Plan plan = make_plan(language, {.code = "", .name = "some/sort-v2.xx"}, {}, {}, {});
  EXPECT_EQ(plan.file_name, "sort-v2.xx");
  EXPECT_THAT(plan.compile->argv, ElementsAre("xc", "-omain", "/workspace/sort-v2.xx", "512"));
  EXPECT_EQ(make_plan(language, {.code = "", .name = "a b.x"}, {}, {}, {}).file_name, "main.x");
}

TEST(LanguageTest, NamesJavaAfterWhatTheSourceHolds) {
  Language java;
  java.file_name = "Main.java";
  java.naming = SourceNaming::kJava;
  java.compile = {"javac", "{file}"};
  java.run = {"java", "{main}"};
  const std::string_view code = "package a.b; public class Shop { void main() {} }";

  const Plan plan = make_plan(java, {.code = code, .name = "Other.java"}, {}, {}, {});

  EXPECT_EQ(plan.file_name, "Shop.java");
  EXPECT_THAT(plan.compile->argv, ElementsAre("javac", "Shop.java"));
  EXPECT_THAT(plan.run.argv, ElementsAre("java", "a.b.Shop"));
}

TEST(LanguageTest, NamesJavaScriptModulesSoThatOldNodesKnow) {
  Language language;
  language.file_name = "main.js";
  language.extensions = {".js", ".mjs", ".cjs"};
  language.naming = SourceNaming::kJavaScript;
  language.run = {"node", "{file}"};
  const auto name_for = [&](std::string_view code, std::string_view user = "") {
    return make_plan(language, {.code = code, .name = user}, {}, {}, {}).file_name;
  };

  EXPECT_EQ(name_for("import fs from 'fs';"), "main.mjs");
  EXPECT_EQ(name_for("\nexport const a = 1;"), "main.mjs");
  EXPECT_EQ(name_for("const a = require('fs');\nimport x from 'y'"), "main.js");
  EXPECT_EQ(name_for("  important()\nimport('fs')"), "main.js");
  EXPECT_EQ(name_for("1", "a.mjs"), "a.mjs");
  EXPECT_EQ(name_for("import fs from 'fs';", "a.cjs"), "a.cjs");
  EXPECT_EQ(name_for("import fs from 'fs';", "a.js"), "a.mjs");
}

TEST(LanguageTest, KeepsTheExecutableBit) {
  Language language = compiled();
  language.file_mode = 0755;

  EXPECT_EQ(make_plan(language, {}, {}, {}, {}).file_mode, 0755U);
}

TEST(LanguageTest, FindsTheVersionInWhatToolsPrint) {
  EXPECT_EQ(version_in("Python 3.11.2\n"), "3.11.2");
  EXPECT_EQ(version_in("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\n"), "12.2.0");
  EXPECT_EQ(version_in("v20.20.2"), "20.20.2");
  EXPECT_EQ(version_in("openjdk version \"17.0.15\" 2025-04-15"), "17.0.15");
  EXPECT_EQ(version_in("mawk 134 x"), "134");
  EXPECT_EQ(version_in("version 2.\n"), "2");
  EXPECT_EQ(version_in("none"), "");
  EXPECT_EQ(version_in(""), "");
}

}  // namespace
}  // namespace glovebox
