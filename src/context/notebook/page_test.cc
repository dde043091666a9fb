// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "context/notebook/html.h"
#include "context/notebook/write.h"

namespace glovebox::notebook {
namespace {

Result<std::string> page_of(std::string_view ipynb) {
  std::string page;
  GB_TRY(render_page(ipynb, [&page](std::string_view piece) -> Result<void> {
    page += piece;
    return {};
  }));
  return page;
}

Notebook with_markdown(std::string text) {
  Notebook notebook;
  Cell& cell = notebook.cells.emplace_back();
  cell.kind = Cell::Kind::kMarkdown;
  cell.id = "a";
  cell.source = std::move(text);
  return notebook;
}

TEST(PageTest, IsWhatTheRendererMakesInThisProcess) {
  const Notebook notebook = with_markdown("# Title\n\n$x^2$ and `code`\n\n| a |\n|---|\n| b |\n");
  const auto page = page_of(write_notebook(notebook));
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(*page, notebook_to_html(notebook));
}

TEST(PageTest, WhatIsNoNotebookIsRefusedWithTheReason) {
  const auto page = page_of("{\"cells\": 1");
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code(), ErrorCode::kInvalid);
  EXPECT_THAT(page.error().message(), testing::HasSubstr("line 1"));
}

TEST(PageTest, AWriterThatFailsEndsIt) {
  const auto done = render_page(write_notebook(with_markdown("x")), [](std::string_view) {
    return Result<void>(Error(ErrorCode::kExhausted, "full"));
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "full");
}

}  // namespace
}  // namespace glovebox::notebook
