// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/read.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string with_cells(const std::string& cells) {
  return R"({"cells":[)" + cells + R"(],"metadata":{},"nbformat":4,"nbformat_minor":5})";
}

std::string fault_of(const std::string& text, const ReadLimits& limits = {}) {
  const auto read = read_notebook(text, limits);
  return read ? "" : read.error().message();
}

TEST(ReadNotebookTest, JoinsTextsThatAreListsOfLines) {
  const auto notebook = read_notebook(with_cells(
      R"({"cell_type":"code","id":"a","metadata":{},"execution_count":3,"source":["a = 1\n","a"],
          "outputs":[{"output_type":"stream","name":"stdout","text":["x\n","y"]},
                     {"output_type":"execute_result","execution_count":3,"metadata":{},
                      "data":{"text/plain":["1","2"],"application/json":["1","2"]}}]})"));
  ASSERT_TRUE(notebook) << notebook.error().message();
  const Cell& cell = notebook->cells.at(0);
  EXPECT_EQ(cell.source, "a = 1\na");
  EXPECT_EQ(cell.execution_count, 3);
  EXPECT_EQ(cell.outputs.at(0).text, "x\ny");
  EXPECT_EQ(cell.outputs.at(1).data.at("text/plain"), R"("12")");
  EXPECT_EQ(cell.outputs.at(1).data.at("application/json"), R"(["1","2"])");
}

TEST(ReadNotebookTest, KeepsUnknownFields) {
  const auto notebook = read_notebook(
      R"({"cells":[{"cell_type":"raw","metadata":{},"source":"","mine":[1]}],"metadata":{},
          "nbformat":4,"nbformat_minor":2,"theirs":{"a":null}})");
  ASSERT_TRUE(notebook) << notebook.error().message();
  EXPECT_EQ(notebook->unknown, R"({"theirs":{"a":null}})");
  EXPECT_EQ(notebook->cells.at(0).unknown, R"({"mine":[1]})");
}

TEST(ReadNotebookTest, NamesTheLineAndColumnOfBrokenJson) {
  EXPECT_THAT(fault_of("{\"cells\": [\n  nul]}"), HasSubstr("line 2, column "));
  EXPECT_THAT(fault_of(""), HasSubstr("line 1, column 1"));
}

TEST(ReadNotebookTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(fault_of(with_cells("{}")), HasSubstr("cells[0].cell_type: ''"));
  EXPECT_THAT(fault_of(with_cells("3")), HasSubstr("cells[0]: must be an object"));
  EXPECT_THAT(fault_of(with_cells(R"({"cell_type":"raw","source":[1]})")),
              HasSubstr("cells[0].source: must be a string"));
  EXPECT_THAT(fault_of(with_cells(
                  R"({"cell_type":"code","source":"","outputs":[{"output_type":"odd\u001b"}]})")),
              HasSubstr("cells[0].outputs[0].output_type: 'odd\\x1b'"));
  EXPECT_THAT(fault_of(with_cells(R"({"cell_type":"code","execution_count":99999999999})")),
              HasSubstr("cells[0].execution_count"));
}

TEST(ReadNotebookTest, RefusesWhatIsNoNotebook) {
  for (const std::string text : {"3", "[]", "{}", "null", R"({"nbformat":"4"})"}) {
    EXPECT_THAT(fault_of(text), HasSubstr("no numeric 'nbformat'")) << text;
  }
  EXPECT_THAT(fault_of(R"({"nbformat":4})"), HasSubstr("cells: must be a list"));
}

TEST(ReadNotebookTest, NamesTheMendForVersionsThatItCannotRead) {
  const auto read = read_notebook(R"({"nbformat":2,"worksheets":[]})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("nbformat 2"));
  EXPECT_THAT(read.error().hint(), HasSubstr("nbconvert"));
}

TEST(ReadNotebookTest, BoundsSizeDepthAndCounts) {
  EXPECT_THAT(fault_of(std::string(2'000, ' '), {.size = 1_KiB}), HasSubstr("more than 1 KiB"));
  EXPECT_THAT(fault_of(std::string(100'000, '[')), HasSubstr("nest deeper than 100"));
  EXPECT_THAT(fault_of("[1,2,3,4]", {.values = 3}), HasSubstr("more than 3 values"));
  const std::string cell = R"({"cell_type":"raw","source":""})";
  EXPECT_THAT(fault_of(with_cells(cell + "," + cell), {.cells = 1}), HasSubstr("more than 1"));
}

TEST(ReadNotebookTest, UpgradesVersion3) {
  const auto notebook = read_notebook(
      R"({"nbformat":3,"nbformat_minor":0,"metadata":{"name":"Old"},"worksheets":[{"cells":[
          {"cell_type":"heading","level":2,"source":["Title"]},
          {"cell_type":"code","language":"python","input":"1/0","prompt_number":4,"collapsed":true,
           "outputs":[{"output_type":"pyout","prompt_number":4,"text":["1"],"png":"aa"},
                      {"output_type":"pyerr","ename":"E","evalue":"v","traceback":["t"]},
                      {"output_type":"stream","stream":"stderr","text":"w"}]}]}]})");
  ASSERT_TRUE(notebook) << notebook.error().message();
  EXPECT_EQ(about(*notebook).title, "Old");
  EXPECT_EQ(notebook->cells.at(0).source, "## Title");
  const Cell& code = notebook->cells.at(1);
  EXPECT_EQ(code.source, "1/0");
  EXPECT_EQ(code.execution_count, 4);
  EXPECT_EQ(code.metadata, R"({"collapsed":true})");
  EXPECT_EQ(code.outputs.at(0).data.at("text/plain"), R"("1")");
  EXPECT_EQ(code.outputs.at(0).data.at("image/png"), R"("aa")");
  EXPECT_THAT(code.outputs.at(1).traceback, ElementsAre("t"));
  EXPECT_EQ(code.outputs.at(2).name, "stderr");
}

}  // namespace
}  // namespace glovebox::notebook
