// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "analyser/syntax/program.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"dec_statement", Shape::kChange, "0"},
    {"inc_statement", Shape::kChange, "0"},
    {"identifier", Shape::kId},
    {"type_identifier", Shape::kId},
    {"package_identifier", Shape::kId},
    {"qualified_type", Shape::kMember, "package", "name"},
    {"selector_expression", Shape::kMember, "operand", "field"},
    {"index_expression", Shape::kSubscript, "operand", "index"},
    {"call_expression", Shape::kCall, "function", "", "arguments"},
    {"interpreted_string_literal", Shape::kText},
    {"raw_string_literal", Shape::kText},
    {"int_literal", Shape::kNumber},
    {"true", Shape::kTrue},
    {"composite_literal", Shape::kSame, "body"},
    {"literal_value", Shape::kList},
    {"literal_element", Shape::kSame},
    {"keyed_element", Shape::kPair, "key", "value"},
    {"pointer_type", Shape::kSame},
    {"unary_expression", Shape::kSame, "operand"},
    {"parenthesized_expression", Shape::kSame},
    {"type_conversion_expression", Shape::kSame, "operand"},
    {"expression_list", Shape::kSame},
    {"binary_expression", Shape::kBinary, "left", "right"},
    {"short_var_declaration", Shape::kBind, "left", "right"},
    {"assignment_statement", Shape::kBind, "left", "right"},
    {"var_spec", Shape::kBind, "name", "value", "type"},
    {"const_spec", Shape::kBind, "name", "value", "type"},
    {"parameter_declaration", Shape::kBind, "name", "", "type"},
    {"range_clause", Shape::kBind, "left"},
    {"function_declaration", Shape::kQuiet, "name"},
    {"type_spec", Shape::kQuiet, "name"},
    {"package_clause", Shape::kQuiet, "0"},
    {"break_statement", Shape::kLeave},
    {"return_statement", Shape::kLeave},
    {"goto_statement", Shape::kLeave},
    {"for_statement", Shape::kOwn},
    {"import_spec", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"os/exec.Command", Does::kArgv},
    {"os/exec.CommandContext", Does::kArgv, 2},
    {"os.StartProcess", Does::kExec},
    {"syscall.Exec", Does::kExec},
    {"syscall.ForkExec", Does::kExec},
    {"syscall.StartProcess", Does::kExec},
    {"os/exec.*", Does::kSpawn},
    {"os.StartProcess", Does::kSpawn},
    {"os.Open", Does::kRead},
    {"os.ReadFile", Does::kRead},
    {"os.ReadDir", Does::kRead},
    {"os.DirFS", Does::kRead},
    {"io/ioutil.Read*", Does::kRead},
    {"os.OpenFile", Does::kOpen},
    {"os.Create", Does::kWrite},
    {"os.WriteFile", Does::kWrite},
    {"io/ioutil.WriteFile", Does::kWrite},
    {"os.Remove*", Does::kWrite},
    {"os.Mkdir*", Does::kWrite},
    {"os.Chmod", Does::kWrite},
    {"os.Chown", Does::kWrite},
    {"os.Truncate", Does::kWrite},
    {"os.Rename", Does::kWrite},
    {"os.Rename", Does::kWrite, 2},
    {"os.Link", Does::kWrite, 2},
    {"os.Symlink", Does::kWrite, 2},
    {"net.Dial*", Does::kHost, 2},
    {"net.Lookup*", Does::kHost},
    {"plugin.Open", Does::kRead},
    {"os.Exit", Does::kLeave},
    {"panic", Does::kLeave},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"string", Fold::kSame},
    {"strings.ToLower", Fold::kLower},
    {"strings.ToUpper", Fold::kUpper},
    {"strings.TrimSpace", Fold::kSame},
});

class Go : public Program {
 public:
  using Program::Program;

 protected:
  void learn(Node node) override;
  void tell(Node node) override;
};

void Go::learn(Node node) {
  if (!node.is("import_spec")) {
    return;
  }
  const std::vector<std::string> path = texts(node.field("path"));
  if (path.empty()) {
    return;
  }
  import_module(path.front(), node);
  const Node name = node.field("name");
  be_quiet(name);
  if (name.is("dot")) {
    open_module(path.front());
  } else {
    bind_name(name ? path_of(name) : path.front().substr(path.front().rfind('/') + 1),
              path.front());
  }
}

// A loop has its condition as a child, or in a clause, or none.
void Go::tell(Node node) {
  if (!node.is("for_statement")) {
    return;
  }
  const std::vector<Node> parts = node.named_children();
  const Node first = parts.empty() ? Node() : parts.front();
  if (first.is("for_clause")) {
    loop(node, first.field("condition"));
  } else if (!first.is("range_clause")) {
    loop(node, first.is("block") ? Node() : first);
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<Go>(source, facts);
}

}  // namespace

const Dialect kGo = {.language = "go",
                     .title = "Go",
                     .grammar = tree_sitter_go,
                     .forms = kForms,
                     .rules = kRules,
                     .folds = kFolds,
                     .make = make};

}  // namespace glovebox::analyser::syntax
