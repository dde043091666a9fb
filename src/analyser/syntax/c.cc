// SPDX-License-Identifier: Apache-2.0
// C and C++.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "analyser/syntax/program.h"

namespace glovebox::analyser::syntax {
namespace {

// The forms of C++ do not occur in a tree of C.
constexpr auto kForms = std::to_array<Form>({
    {"update_expression", Shape::kChange, "argument"},
    {"identifier", Shape::kId},
    {"field_expression", Shape::kMember, "argument", "field"},
    {"subscript_expression", Shape::kSubscript, "argument", "index"},
    {"call_expression", Shape::kCall, "function", "", "arguments"},
    {"string_literal", Shape::kText},
    {"concatenated_string", Shape::kConcat},
    {"number_literal", Shape::kNumber},
    {"true", Shape::kTrue},
    {"initializer_list", Shape::kList},
    {"parenthesized_expression", Shape::kSame},
    {"comma_expression", Shape::kSame, "right"},
    {"conditional_expression", Shape::kSame, "consequence", "alternative"},
    {"cast_expression", Shape::kSame, "value"},
    {"pointer_expression", Shape::kSame, "argument"},
    {"assignment_expression", Shape::kBind, "left", "right"},
    {"init_declarator", Shape::kBind, "declarator", "value"},
    {"enumerator", Shape::kDeclare, "name"},
    {"while_statement", Shape::kLoop, "condition"},
    {"do_statement", Shape::kLoop, "condition"},
    {"for_statement", Shape::kLoop, "condition"},
    {"break_statement", Shape::kLeave},
    {"return_statement", Shape::kLeave},
    {"goto_statement", Shape::kLeave},
    {"declaration", Shape::kOwn},
    {"parameter_declaration", Shape::kOwn},
    {"optional_parameter_declaration", Shape::kOwn},
    {"function_definition", Shape::kOwn},
    {"preproc_include", Shape::kOwn},
    {"preproc_def", Shape::kOwn},
    {"preproc_function_def", Shape::kOwn},
    {"gnu_asm_expression", Shape::kOwn},
    {"attribute_specifier", Shape::kOwn},
    {"attribute_declaration", Shape::kOwn},
    // C++
    {"type_identifier", Shape::kId},
    {"namespace_identifier", Shape::kId},
    {"qualified_identifier", Shape::kMember, "scope", "name"},
    {"template_function", Shape::kSame, "name"},
    {"template_type", Shape::kSame, "name"},
    {"new_expression", Shape::kCall, "type", "", "arguments"},
    {"raw_string_literal", Shape::kText},
    {"condition_clause", Shape::kSame, "value"},
    {"type_descriptor", Shape::kSame, "type"},
    {"alias_declaration", Shape::kBind, "name", "type"},
    {"reference_declarator", Shape::kSame},
    {"throw_statement", Shape::kLeave},
    {"co_return_statement", Shape::kLeave},
    {"co_yield_statement", Shape::kLeave},
    {"class_specifier", Shape::kQuiet, "name"},
    {"struct_specifier", Shape::kQuiet, "name"},
    {"namespace_definition", Shape::kQuiet, "name"},
    {"namespace_alias_definition", Shape::kOwn},
    {"using_declaration", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"system", Does::kShell},   {"popen", Does::kShell},          {"execl*", Does::kExec},
    {"execv*", Does::kExec},    {"posix_spawn*", Does::kArgv, 2}, {"fork", Does::kSpawn},
    {"vfork", Does::kSpawn},    {"clone", Does::kSpawn},          {"dlsym", Does::kNamed, 2},
    {"dlopen", Does::kRead},    {"fopen", Does::kOpen},           {"freopen", Does::kOpen},
    {"open", Does::kOpen},      {"open64", Does::kOpen},          {"openat", Does::kWrite, 2},
    {"creat", Does::kWrite},    {"opendir", Does::kRead},         {"stat", Does::kRead},
    {"lstat", Does::kRead},     {"readlink", Does::kRead},        {"access", Does::kRead},
    {"unlink", Does::kWrite},   {"remove", Does::kWrite},         {"rename", Does::kWrite, 2},
    {"mkdir", Does::kWrite},    {"rmdir", Does::kWrite},          {"chmod", Does::kWrite},
    {"chown", Does::kWrite},    {"truncate", Does::kWrite},       {"symlink", Does::kWrite, 2},
    {"link", Does::kWrite, 2},  {"ifstream", Does::kRead},        {"ofstream", Does::kWrite},
    {"fstream", Does::kWrite},  {"getaddrinfo", Does::kHost},     {"gethostbyname", Does::kHost},
    {"inet_addr", Does::kHost}, {"exit", Does::kLeave},           {"_exit", Does::kLeave},
    {"abort", Does::kLeave},    {"longjmp", Does::kLeave},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"string", Fold::kSame},
    {"string_view", Fold::kSame},
    {"filesystem.path", Fold::kSame},
});

constexpr auto kKept = std::to_array<std::string_view>(
    {"system", "popen", "exec*", "posix_spawn*", "fork", "vfork", "clone*", "dlopen", "dlsym",
     "syscall", "ptrace", "mprotect", "memfd_create", "socket", "std"});

// The name in a declarator: in pointers, arrays, functions and parentheses.
Node declared(Node declarator) {
  for (std::uint32_t depth = 0; declarator && depth < kMostDepth; ++depth) {
    Node inner = declarator.field("declarator");
    if (!inner &&
        (declarator.is("parenthesized_declarator") || declarator.is("reference_declarator"))) {
      const std::vector<Node> parts = declarator.named_children();
      inner = parts.empty() ? Node() : parts.back();
    }
    if (!inner) {
      return declarator.is("identifier") || declarator.is("type_identifier") ? declarator : Node();
    }
    declarator = inner;
  }
  return {};
}

bool is_function(Node declarator) {
  while (declarator && !declarator.is("function_declarator")) {
    declarator = declarator.field("declarator");
  }
  return static_cast<bool>(declarator);
}

class C : public Program {
 public:
  using Program::Program;

 protected:
  void assign(Node target, Node value, Node type, bool grows) override;
  void learn(Node node) override;
  void tell(Node node) override;
  void called_unknown(const Role& call) override;

 private:
  void learn_macro(Node node);
};

void C::assign(Node target, Node value, Node type, bool grows) {
  const Node name = target.type().ends_with("declarator") ? declared(target) : target;
  if (name.is("identifier") && name.text() == "main") {
    add(Kind::kPattern, "opaque-code", name);  // Its value is machine code.
  }
  if (name) {
    Program::assign(name, value, type, grows);
  }
}

void C::learn_macro(Node node) {
  const Node name = node.field("name");
  const Node value = node.field("value");
  be_quiet(name);
  be_quiet_within(node.field("parameters"));
  const std::string_view text = value.text();
  if (node.is("preproc_def") && std::ranges::all_of(text, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
      })) {
    bind_name(path_of(name), std::string(text));
  }
}

void C::learn(Node node) {
  if (node.is("preproc_def") || node.is("preproc_function_def")) {
    learn_macro(node);
  } else if (node.is("preproc_include")) {
    std::string_view path = node.field("path").text();
    if (path.size() > 2 && (path.front() == '<' || path.front() == '"')) {
      path = path.substr(1, path.size() - 2);
      import_module(std::string(path), node);
    }
  } else if (node.is("namespace_alias_definition")) {
    const std::vector<Node> parts = node.named_children();
    be_quiet_within(node);
    if (parts.size() == 2) {
      bind_name(path_of(parts[0]), path_of(parts[1]));
    }
  } else if (node.is("function_definition")) {
    be_quiet(declared(node.field("declarator")));
  } else if (node.type().ends_with("declaration") && !node.is("using_declaration")) {
    // What is declared without a value; a function that is only declared belongs to another file.
    for (const Node each : node.named_children()) {
      const Node name = each.is("init_declarator") ? Node() : declared(each);
      if (name && name.is("identifier")) {
        be_quiet(name);
        if (!is_function(each)) {
          declare(name);
        }
      }
    }
  }
}

void C::tell(Node node) {
  if (node.is("preproc_def") || node.is("preproc_function_def")) {
    const Node value = node.field("value");
    report_words(value);
    if (value.text().find("##") != std::string_view::npos) {
      add(Kind::kPattern, "dynamic-attribute", node);
    }
  } else if (node.is("preproc_include") && node.field("path").is("identifier")) {
    add(Kind::kPattern, "dynamic-import", node);
  } else if (node.is("gnu_asm_expression")) {
    add(Kind::kPattern, "opaque-code", node);
  } else if (node.type().starts_with("attribute_")) {
    // Data in the place of code, and functions under another name.
    constexpr auto kHiding = std::to_array<std::string_view>({"section", "alias", "ifunc"});
    if (std::ranges::any_of(kHiding, [text = node.text()](std::string_view each) {
          return text.find(each) != std::string_view::npos;
        })) {
      add(Kind::kPattern, "opaque-code", node);
    }
  }
}

// Data that is called.
void C::called_unknown(const Role& call) {
  Node callee = call.one;
  while (callee.is("parenthesized_expression") && !callee.named_children().empty()) {
    callee = callee.named_children().front();
  }
  if (callee.is("cast_expression") || callee.is("string_literal")) {
    add(Kind::kPattern, "opaque-code", call.node);
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<C>(source, facts);
}

}  // namespace

const Dialect kC = {.language = "c",
                    .title = "C",
                    .grammar = tree_sitter_c,
                    .forms = kForms,
                    .rules = kRules,
                    .kept = kKept,
                    .make = make};
const Dialect kCpp = {.language = "cpp",
                      .title = "C++",
                      .grammar = tree_sitter_cpp,
                      .forms = kForms,
                      .rules = kRules,
                      .folds = kFolds,
                      .kept = kKept,
                      .implied = "std.",
                      .make = make};

}  // namespace glovebox::analyser::syntax
