// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/parameters.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

std::string rendered(std::string_view language, std::string json) {
  const auto code = render_parameters(language, {{"x", std::move(json)}});
  return code ? *code : code.error().message();
}

TEST(ParametersTest, TakesJsonAsSuchAndAnythingElseAsText) {
  EXPECT_EQ(parse_parameter("n=3").value(), Parameter("n", "3"));
  EXPECT_EQ(parse_parameter("n=[1, 2]").value(), Parameter("n", "[1,2]"));
  EXPECT_EQ(parse_parameter("name=Ada = 1").value(), Parameter("name", R"("Ada = 1")"));
  EXPECT_EQ(parse_parameter("name=").value(), Parameter("name", R"("")"));
  EXPECT_FALSE(parse_parameter("no value"));
  EXPECT_FALSE(parse_parameter("a b=1"));
  EXPECT_FALSE(parse_parameter("x;import os=1"));
  EXPECT_FALSE(parse_parameter("x=\xff"));
}

TEST(ParametersTest, RendersValuesInEachLanguage) {
  const std::string json = R"({"a":[1,2.5,true,null],"b":"t"})";
  EXPECT_EQ(rendered("python", json), "x = {\"a\": [1, 2.5, True, None], \"b\": \"t\"}\n");
  EXPECT_EQ(rendered("r", json), "x = list(\"a\" = list(1, 2.5, TRUE, NULL), \"b\" = \"t\")\n");
  EXPECT_EQ(rendered("r", "[1,2]"), "x = c(1, 2)\n");
  EXPECT_EQ(rendered("julia", json),
            "x = Dict(\"a\" => [1, 2.5, true, nothing], \"b\" => \"t\")\n");
  EXPECT_EQ(rendered("javascript", json), "var x = {\"a\": [1, 2.5, true, null], \"b\": \"t\"};\n");
  EXPECT_EQ(rendered("bash", R"(["a b",1])"), "x=('a b' 1)\n");
}

TEST(ParametersTest, TextsCannotBecomeCode) {
  EXPECT_EQ(rendered("bash", R"json("a'; rm -rf / #$(id)")json"), "x='a'\\''; rm -rf / #$(id)'\n");
  EXPECT_EQ(rendered("julia", R"json("$(run)")json"), "x = \"\\$(run)\"\n");
  EXPECT_EQ(rendered("python", R"("\"\n\\")"), "x = \"\\\"\\n\\\\\"\n");
}

TEST(ParametersTest, InjectsBehindTheTaggedCellAndReplacesWhatWasInjected) {
  Notebook notebook;
  notebook.cells.resize(3);
  notebook.cells[1].metadata = R"({"tags":["parameters"]})";
  ASSERT_TRUE(inject_parameters(notebook, {{"n", "1"}}));
  ASSERT_EQ(notebook.cells.size(), 4U);
  EXPECT_EQ(notebook.cells[2].source, "# Parameters\nn = 1");
  EXPECT_TRUE(has_tag(notebook.cells[2], "injected-parameters"));
  ASSERT_TRUE(inject_parameters(notebook, {{"n", "2"}}));
  ASSERT_EQ(notebook.cells.size(), 4U);
  EXPECT_EQ(notebook.cells[2].source, "# Parameters\nn = 2");
}

TEST(ParametersTest, InjectsFirstWithoutATaggedCell) {
  Notebook notebook;
  notebook.metadata = R"({"language_info":{"name":"R"}})";
  notebook.cells.resize(1);
  ASSERT_TRUE(inject_parameters(notebook, {{"on", "true"}}));
  EXPECT_EQ(notebook.cells.at(0).source, "# Parameters\non = TRUE");
}

TEST(ParametersTest, RefusesLanguagesThatItCannotWrite) {
  EXPECT_EQ(render_parameters("cobol", {}).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace glovebox::notebook
