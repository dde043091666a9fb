// SPDX-License-Identifier: Apache-2.0
// Syntax trees by tree-sitter: what owns what, and a bound for texts that are made to hurt.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::analyser::syntax {

// A part of a tree, valid as long as the tree. Cheap to copy. A Node may be none: then it has no
// text, no type and nothing below it.
class Node {
 public:
  Node() = default;
  Node(TSNode raw, std::string_view code) : raw_(raw), code_(code) {}

  explicit operator bool() const { return raw_.id != nullptr; }

  // As the grammar calls it: "identifier", or "+" if it is not a named rule.
  [[nodiscard]] std::string_view type() const;
  [[nodiscard]] bool is(std::string_view type) const { return this->type() == type; }
  [[nodiscard]] bool named() const { return *this && ts_node_is_named(raw_); }
  [[nodiscard]] TSSymbol symbol() const { return *this ? ts_node_symbol(raw_) : 0; }
  [[nodiscard]] std::string_view text() const { return code_.substr(begin(), end() - begin()); }
  // Offsets in bytes.
  [[nodiscard]] std::uint32_t begin() const { return *this ? ts_node_start_byte(raw_) : 0; }
  [[nodiscard]] std::uint32_t end() const { return *this ? ts_node_end_byte(raw_) : 0; }
  // Always the same for one part of a tree, and different for every other part.
  [[nodiscard]] const void* id() const { return raw_.id; }

  // The first child with this name in the grammar, or none.
  [[nodiscard]] Node field(std::string_view name) const;
  [[nodiscard]] std::vector<Node> children() const;
  // Without comments and punctuation.
  [[nodiscard]] std::vector<Node> named_children() const;

  [[nodiscard]] TSNode raw() const { return raw_; }
  [[nodiscard]] std::string_view code() const { return code_; }

 private:
  TSNode raw_{};
  std::string_view code_;
};

// How deeply nodes may be nested: code that follows a tree recurses.
inline constexpr std::uint32_t kMostDepth = 1'500;

class Tree {
 public:
  // `code` is UTF-8 and outlives the tree. Fails with kInvalid when it is nested too deeply; a
  // syntax error is not a failure, see first_error(). The caller must bound the time.
  static Result<Tree> parse(const TSLanguage* grammar, std::string_view code);

  [[nodiscard]] Node root() const { return {ts_tree_root_node(tree_.get()), code_}; }
  // The first part that is not in the language, or is missing; none if all of it parsed.
  [[nodiscard]] Node first_error() const;

 private:
  struct Delete {
    void operator()(TSTree* tree) const { ts_tree_delete(tree); }
  };
  Tree(TSTree* tree, std::string_view code) : tree_(tree), code_(code) {}

  std::unique_ptr<TSTree, Delete> tree_;
  std::string_view code_;
};

// All nodes from one downwards, in their order, without recursion.
class Walk {
 public:
  explicit Walk(Node top);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // The next node, at first the topmost; none at the end.
  Node next();
  // Leaves out what is below the node that next() returned last.
  void skip() { skipped_ = true; }
  // Of the node that next() returned last; 0 for the topmost.
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  TSTreeCursor cursor_;
  std::string_view code_;
  std::uint32_t depth_ = 0;
  bool started_ = false;
  bool skipped_ = false;
};

}  // namespace glovebox::analyser::syntax
