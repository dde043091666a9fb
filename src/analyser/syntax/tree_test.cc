// SPDX-License-Identifier: Apache-2.0
#include "analyser/syntax/tree.h"

#include <gtest/gtest.h>

#include <string>

#include "analyser/syntax/dialect.h"

namespace glovebox::analyser::syntax {
namespace {

TEST(TreeTest, AnErrorIsFoundWhereItIs) {
  const std::string code = "x = 1;\ny = (2;\n";
  const Tree tree = Tree::parse(tree_sitter_javascript(), code).value();
  ASSERT_TRUE(tree.first_error());
  EXPECT_GE(tree.first_error().begin(), code.find('y'));
  EXPECT_FALSE(Tree::parse(tree_sitter_javascript(), "x = 1\n").value().first_error());
}

TEST(TreeTest, DeepNestingIsRefused) {
  const std::string code(20'000, '(');
  EXPECT_FALSE(Tree::parse(tree_sitter_javascript(), code + "1" + std::string(20'000, ')')));
}

// tree-sitter 0.20 counted children in 16 bits and corrupted its memory here.
TEST(TreeTest, ANodeMayHaveMoreChildrenThan16BitsCountBesideAnError) {
  std::string code = "x = [";
  for (int i = 0; i < 200'000; ++i) {
    code += "1,";
  }
  for (const char* const end : {"]", "{{{"}) {
    const std::string whole = code + end;
    const auto tree = Tree::parse(tree_sitter_javascript(), whole);
    ASSERT_TRUE(tree);
    EXPECT_EQ(static_cast<bool>(tree->first_error()), std::string_view(end) != "]") << end;
    std::size_t numbers = 0;
    Walk walk(tree->root());
    while (const Node node = walk.next()) {
      numbers += node.is("number") ? 1 : 0;
    }
    EXPECT_EQ(numbers, 200'000U) << end;
  }
}

TEST(TreeTest, AWalkSeesEachNodeOnceAndSkipsWhatItIsToldTo) {
  const std::string code = "f(a);\ng(b);\n";
  const Tree tree = Tree::parse(tree_sitter_javascript(), code).value();
  std::string seen;
  Walk walk(tree.root());
  while (const Node node = walk.next()) {
    if (node.is("identifier")) {
      seen += node.text();
    }
    if (node.is("arguments")) {
      walk.skip();
    }
  }
  EXPECT_EQ(seen, "fg");
  EXPECT_FALSE(walk.next());
}

TEST(TreeTest, NoneHasNothing) {
  const Node none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.type(), "");
  EXPECT_EQ(none.text(), "");
  EXPECT_FALSE(none.field("name"));
  EXPECT_TRUE(none.children().empty());
}

}  // namespace
}  // namespace glovebox::analyser::syntax
