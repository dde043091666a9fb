// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/write.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "context/notebook/read.h"

namespace glovebox::notebook {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Cell code_cell(std::string source, std::string id = {}) {
  Cell cell;
  cell.source = std::move(source);
  cell.id = std::move(id);
  return cell;
}

Notebook read_again(const Notebook& notebook) {
  auto read = read_notebook(write_notebook(notebook));
  EXPECT_TRUE(read) << (read ? "" : read.error().message());
  return read ? std::move(read).value() : Notebook();
}

TEST(WriteNotebookTest, WritesAsJupyterDoes) {
  Notebook notebook;
  notebook.cells.push_back(code_cell("a = 1\na", "one"));
  EXPECT_EQ(write_notebook(notebook), R"({
 "cells": [
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "one",
   "metadata": {},
   "outputs": [],
   "source": [
    "a = 1\n",
    "a"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
)");
}

TEST(WriteNotebookTest, GivesEachCellAValidIdOfItsOwn) {
  Notebook notebook;
  notebook.cells = {
      code_cell(""),          code_cell(""),          code_cell("x", "bad id!"),
      code_cell("y", "same"), code_cell("z", "same"), code_cell("w", std::string(65, 'a'))};
  const Notebook again = read_again(notebook);
  std::set<std::string> ids;
  for (const Cell& cell : again.cells) {
    EXPECT_THAT(cell.id, MatchesRegex("[a-zA-Z0-9_-]+"));
    EXPECT_LE(cell.id.size(), 64U);
    EXPECT_TRUE(ids.insert(cell.id).second) << cell.id;
  }
  EXPECT_EQ(again.cells.at(3).id, "same");
  EXPECT_EQ(write_notebook(notebook), write_notebook(notebook));
}

TEST(WriteNotebookTest, KeepsEverythingThatWasRead) {
  Notebook notebook;
  notebook.metadata = R"({"kernelspec":{"display_name":"X","name":"x"}})";
  notebook.unknown = R"({"theirs":1})";
  Cell cell = code_cell("print('é')\n", "first");
  cell.metadata = R"({"tags":["a"]})";
  cell.execution_count = 7;
  Output error;
  error.kind = Output::Kind::kError;
  error.name = "E";
  error.text = "v";
  error.traceback = {"one\ntwo", "\x1b[31mthree"};
  Output result;
  result.kind = Output::Kind::kResult;
  result.execution_count = 7;
  result.data = {{"text/html", R"("<b>\n</b>")"},
                 {"image/png", R"("aGk=\n")"},
                 {"application/json", R"(["a",1])"}};
  result.metadata = R"({"image/png":{"width":3}})";
  cell.outputs = {error, result};
  Cell text = code_cell("![x](attachment:x.png)", "second");
  text.kind = Cell::Kind::kMarkdown;
  text.attachments["x.png"] = {{"image/png", R"("aGk=")"}};
  notebook.cells = {cell, text};
  EXPECT_EQ(read_again(notebook), notebook);
}

TEST(WriteNotebookTest, MendsTextsThatAreNoUtf8) {
  Notebook notebook;
  notebook.cells.push_back(code_cell("\xff", "a"));
  EXPECT_THAT(write_notebook(notebook), HasSubstr("\"\xEF\xBF\xBD\""));
}

TEST(WriteNotebookTest, TurnsValuesThatMustBeTextsIntoTexts) {
  Notebook notebook;
  notebook.cells.push_back(code_cell("", "a"));
  Output display;
  display.kind = Output::Kind::kDisplay;
  display.data = {{"text/plain", "[1,2]"}, {"image/png", "{}"}, {"text/html", "no json"}};
  notebook.cells[0].outputs.push_back(display);
  const MimeBundle data = read_again(notebook).cells.at(0).outputs.at(0).data;
  EXPECT_EQ(data.at("text/plain"), R"("[1,2]")");
  EXPECT_EQ(data.at("image/png"), R"("{}")");
  EXPECT_FALSE(data.contains("text/html"));
}

TEST(WriteNotebookTest, MetadataAreAsTheSchemaWantsThem) {
  Notebook notebook;
  notebook.metadata = R"({"kernelspec":{"name":"python3"},"language_info":3,"theirs":[1]})";
  EXPECT_EQ(read_again(notebook).metadata,
            R"({"kernelspec":{"display_name":"python3","name":"python3"},"theirs":[1]})");
  notebook.metadata = R"({"kernelspec":null,"language_info":{"version":"3"}})";
  EXPECT_EQ(read_again(notebook).metadata, "{}");
}

// As lists of lines this would be more values than a reader takes.
TEST(WriteNotebookTest, TextsOfVeryManyLinesCanBeReadAgain) {
  Notebook notebook;
  Output output;
  output.name = "stdout";
  output.text = std::string(3'000'000, '\n');
  notebook.cells.push_back(code_cell("x"));
  notebook.cells[0].outputs.push_back(output);
  const Notebook again = read_again(notebook);
  ASSERT_EQ(again.cells.size(), 1U);
  EXPECT_EQ(again.cells[0].outputs.at(0).text, output.text);
}

}  // namespace
}  // namespace glovebox::notebook
