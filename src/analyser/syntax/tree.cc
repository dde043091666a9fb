// SPDX-License-Identifier: Apache-2.0
#include "analyser/syntax/tree.h"

#include <utility>

#include "base/check.h"

namespace glovebox::analyser::syntax {
namespace {

struct DeleteParser {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};

}  // namespace

std::string_view Node::type() const { return *this ? ts_node_type(raw_) : std::string_view{}; }

Node Node::field(std::string_view name) const {
  return *this ? Node(ts_node_child_by_field_name(raw_, name.data(),
                                                  static_cast<std::uint32_t>(name.size())),
                      code_)
               : Node();
}

std::vector<Node> Node::children() const {
  std::vector<Node> found;
  if (!*this) {
    return found;
  }
  TSTreeCursor cursor = ts_tree_cursor_new(raw_);
  for (bool more = ts_tree_cursor_goto_first_child(&cursor); more;
       more = ts_tree_cursor_goto_next_sibling(&cursor)) {
    found.emplace_back(ts_tree_cursor_current_node(&cursor), code_);
  }
  ts_tree_cursor_delete(&cursor);
  return found;
}

std::vector<Node> Node::named_children() const {
  std::vector<Node> found = children();
  std::erase_if(found, [](const Node& node) {
    return !node.named() || ts_node_is_extra(node.raw()) || node.is("comma");
  });
  return found;
}

Result<Tree> Tree::parse(const TSLanguage* grammar, std::string_view code) {
  const std::unique_ptr<TSParser, DeleteParser> parser(ts_parser_new());
  GB_CHECK(ts_parser_set_language(parser.get(), grammar));
  TSTree* const made = ts_parser_parse_string(parser.get(), nullptr, code.data(),
                                              static_cast<std::uint32_t>(code.size()));
  GB_CHECK(made != nullptr);
  Tree tree(made, code);
  Walk walk(tree.root());
  while (walk.next()) {
    if (walk.depth() > kMostDepth) {
      return Error(ErrorCode::kInvalid, "it is nested too deeply");
    }
  }
  return tree;
}

Node Tree::first_error() const {
  if (!ts_node_has_error(root().raw())) {
    return {};
  }
  Walk walk(root());
  while (const Node node = walk.next()) {
    if (ts_node_is_missing(node.raw()) || node.is("ERROR")) {
      return node;
    }
    if (!ts_node_has_error(node.raw())) {
      walk.skip();
    }
  }
  return root();
}

Walk::Walk(Node top) : cursor_(ts_tree_cursor_new(top.raw())), code_(top.code()) { GB_CHECK(top); }

Walk::~Walk() { ts_tree_cursor_delete(&cursor_); }

Node Walk::next() {
  if (!started_) {
    started_ = true;
    return {ts_tree_cursor_current_node(&cursor_), code_};
  }
  if (!std::exchange(skipped_, false) && ts_tree_cursor_goto_first_child(&cursor_)) {
    ++depth_;
    return {ts_tree_cursor_current_node(&cursor_), code_};
  }
  while (!ts_tree_cursor_goto_next_sibling(&cursor_)) {
    if (depth_ == 0 || !ts_tree_cursor_goto_parent(&cursor_)) {
      depth_ = 0;
      skipped_ = true;  // Stays at the end.
      return {};
    }
    --depth_;
  }
  return {ts_tree_cursor_current_node(&cursor_), code_};
}

}  // namespace glovebox::analyser::syntax
