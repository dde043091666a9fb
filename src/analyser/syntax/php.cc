// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_set>

#include "analyser/syntax/program.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"update_expression", Shape::kChange, "argument"},
    {"name", Shape::kId},
    {"qualified_name", Shape::kId},
    {"namespace_name", Shape::kId},
    {"variable_name", Shape::kId},
    {"member_access_expression", Shape::kMember, "object", "name"},
    {"nullsafe_member_access_expression", Shape::kMember, "object", "name"},
    {"scoped_property_access_expression", Shape::kMember, "scope", "name"},
    {"class_constant_access_expression", Shape::kMember, "0", "1"},
    {"subscript_expression", Shape::kSubscript, "0", "1"},
    {"function_call_expression", Shape::kCall, "function", "", "arguments"},
    {"member_call_expression", Shape::kCall, "object", "name", "arguments"},
    {"nullsafe_member_call_expression", Shape::kCall, "object", "name", "arguments"},
    {"scoped_call_expression", Shape::kCall, "scope", "name", "arguments"},
    {"object_creation_expression", Shape::kCall, "0", "", "1"},
    {"argument", Shape::kSame},
    {"string", Shape::kText},
    {"encapsed_string", Shape::kText},
    {"heredoc", Shape::kSame, "value"},
    {"nowdoc", Shape::kSame, "value"},
    {"heredoc_body", Shape::kText},
    {"nowdoc_body", Shape::kText},
    {"integer", Shape::kNumber},
    {"boolean", Shape::kTrue},
    {"array_creation_expression", Shape::kList},
    {"list_literal", Shape::kSame},
    {"array_element_initializer", Shape::kPair, "0", "1"},
    {"parenthesized_expression", Shape::kSame},
    {"cast_expression", Shape::kSame, "value"},
    {"error_suppression_expression", Shape::kSame},
    {"conditional_expression", Shape::kSame, "body", "alternative"},
    {"binary_expression", Shape::kBinary, "left", "right"},
    {"assignment_expression", Shape::kBind, "left", "right"},
    {"reference_assignment_expression", Shape::kBind, "left", "right"},
    {"augmented_assignment_expression", Shape::kBind, "left", "right"},
    {"property_element", Shape::kBind, "name", "default_value"},
    {"const_element", Shape::kBind, "0", "1"},
    {"simple_parameter", Shape::kBind, "name", "default_value"},
    {"function_definition", Shape::kOwn},
    {"method_declaration", Shape::kQuiet, "name"},
    {"class_declaration", Shape::kQuiet, "name"},
    {"namespace_definition", Shape::kQuiet, "name"},
    {"while_statement", Shape::kLoop, "condition"},
    {"do_statement", Shape::kLoop, "condition"},
    {"for_statement", Shape::kLoop, "condition"},
    {"break_statement", Shape::kLeave},
    {"return_statement", Shape::kLeave},
    {"throw_expression", Shape::kLeave},
    {"exit_statement", Shape::kLeave},
    {"namespace_use_clause", Shape::kOwn},
    {"dynamic_variable_name", Shape::kOwn},
    {"shell_command_expression", Shape::kOwn},
    {"include_expression", Shape::kOwn},
    {"include_once_expression", Shape::kOwn},
    {"require_expression", Shape::kOwn},
    {"require_once_expression", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"system", Does::kShell},
    {"exec", Does::kShell},
    {"shell_exec", Does::kShell},
    {"passthru", Does::kShell},
    {"popen", Does::kShell},
    {"proc_open", Does::kShell},
    {"pcntl_exec", Does::kArgv},
    {"pcntl_fork", Does::kSpawn},
    {"eval", Does::kCode},
    {"create_function", Does::kCode, 2},
    {"call_user_func", Does::kNamed},
    {"call_user_func_array", Does::kNamed},
    {"fopen", Does::kOpen},
    {"splfileobject", Does::kOpen},
    {"file", Does::kRead},
    {"file_get_contents", Does::kRead},
    {"readfile", Does::kRead},
    {"opendir", Does::kRead},
    {"scandir", Does::kRead},
    {"glob", Does::kRead},
    {"highlight_file", Does::kRead},
    {"show_source", Does::kRead},
    {"parse_ini_file", Does::kRead},
    {"file_put_contents", Does::kWrite},
    {"unlink", Does::kWrite},
    {"mkdir", Does::kWrite},
    {"rmdir", Does::kWrite},
    {"touch", Does::kWrite},
    {"chmod", Does::kWrite},
    {"chown", Does::kWrite},
    {"rename", Does::kWrite, 2},
    {"copy", Does::kRead},
    {"copy", Does::kWrite, 2},
    {"symlink", Does::kWrite, 2},
    {"fsockopen", Does::kHost},
    {"gethostbyname", Does::kHost},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"strrev", Fold::kReverse},
    {"base64_decode", Fold::kBase64},
    {"hex2bin", Fold::kHex},
    {"str_rot13", Fold::kRot13},
    {"urldecode", Fold::kPercents},
    {"rawurldecode", Fold::kPercents},
    {"implode", Fold::kJoin},
    {"join", Fold::kJoin},
    {"chr", Fold::kCharacters},
    {"strtolower", Fold::kLower},
    {"strtoupper", Fold::kUpper},
    {"trim", Fold::kSame},
    {"strval", Fold::kSame},
});

class Php : public Program {
 public:
  using Program::Program;

 protected:
  void learn(Node node) override;
  void tell(Node node) override;
  // A variable means nothing by itself, unless PHP made it.
  [[nodiscard]] std::optional<std::string> root(std::string_view name) const override {
    return name.starts_with('$') && !name.starts_with("$_") && name != "$globals"
               ? std::nullopt
               : std::optional(std::string(name));
  }
  void called(const std::string& name, const Role& call) override;
  void called_unknown(const Role& call) override;

 private:
  std::unordered_set<std::string> own_functions_;
};

void Php::learn(Node node) {
  if (node.is("function_definition")) {
    be_quiet(node.field("name"));
    own_functions_.insert(path_of(node.field("name")));
    return;
  }
  if (!node.is("namespace_use_clause")) {
    return;
  }
  const std::vector<Node> parts = node.named_children();
  be_quiet_within(node);
  if (!parts.empty()) {
    const std::string name = path_of(parts.front());
    const Node alias = node.field("alias");
    bind_name(alias ? path_of(alias) : name.substr(name.rfind('.') + 1), name);
    import_module(name, node);
  }
}

void Php::tell(Node node) {
  if (node.is("shell_command_expression")) {
    run_shell(text_of(node), node);
  } else if (node.is("dynamic_variable_name")) {
    add(Kind::kPattern, "dynamic-attribute", node);
  } else if (node.type().starts_with("include") || node.type().starts_with("require")) {
    const std::vector<Node> parts = node.named_children();
    load(parts.empty() ? Node() : parts.front(), node);
  }
}

// A function of PHP itself may return the name of any other function.
void Php::called(const std::string& name, const Role& call) {
  if (!call.other && name.ends_with("()") && name.find_first_of("$.") == std::string::npos &&
      !own_functions_.contains(name.substr(0, name.size() - 2))) {
    add(Kind::kPattern, "dynamic-code", call.node);
  }
}

// A variable counts as a function if the program gives it nothing but functions.
void Php::called_unknown(const Role& call) {
  const Node callee = call.other ? Node() : call.one;
  const bool opens = callee.is("subscript_expression") || callee.is("dynamic_variable_name") ||
                     callee.is("encapsed_string") || callee.is("binary_expression");
  const std::vector<Node> values =
      callee.is("variable_name") ? values_bound_to(path_of(callee)) : std::vector<Node>{};
  if (opens || std::ranges::any_of(values, [](Node value) {
        return !value.is("anonymous_function") && !value.is("arrow_function");
      })) {
    add(Kind::kPattern, "dynamic-code", call.node);
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<Php>(source, facts);
}

}  // namespace

const Dialect kPhp = {.language = "php",
                      .title = "PHP",
                      .grammar = tree_sitter_php,
                      .forms = kForms,
                      .rules = kRules,
                      .folds = kFolds,
                      .joining = " . ",
                      .choosing = " ?? ?: ",
                      .texts_are_functions = true,
                      .ignores_case = true,
                      .code_begins = "<?php ",
                      .make = make};

}  // namespace glovebox::analyser::syntax
