// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "analyser/syntax/program.h"
#include "analyser/syntax/texts.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"update_expression", Shape::kChange, "0"},
    {"identifier", Shape::kId},
    {"type_identifier", Shape::kId},
    {"scoped_type_identifier", Shape::kId},
    {"generic_type", Shape::kSame, "0"},
    {"array_type", Shape::kSame, "element"},
    {"field_access", Shape::kMember, "object", "field"},
    {"method_reference", Shape::kMember, "0", "1"},
    {"array_access", Shape::kSubscript, "array", "index"},
    {"method_invocation", Shape::kCall, "object", "name", "arguments"},
    {"object_creation_expression", Shape::kCall, "type", "", "arguments"},
    {"string_literal", Shape::kText},
    {"character_literal", Shape::kText},
    {"decimal_integer_literal", Shape::kNumber},
    {"hex_integer_literal", Shape::kNumber},
    {"true", Shape::kTrue},
    {"array_initializer", Shape::kList},
    {"array_creation_expression", Shape::kSame, "value"},
    {"parenthesized_expression", Shape::kSame},
    {"cast_expression", Shape::kSame, "value"},
    {"ternary_expression", Shape::kSame, "consequence", "alternative"},
    {"binary_expression", Shape::kBinary, "left", "right"},
    {"variable_declarator", Shape::kBind, "name", "value"},
    {"assignment_expression", Shape::kBind, "left", "right"},
    {"resource", Shape::kBind, "name", "value", "type"},
    {"formal_parameter", Shape::kBind, "name", "", "type"},
    {"enhanced_for_statement", Shape::kDeclare, "name"},
    {"catch_formal_parameter", Shape::kDeclare, "name"},
    {"class_declaration", Shape::kQuiet, "name"},
    {"interface_declaration", Shape::kQuiet, "name"},
    {"enum_declaration", Shape::kQuiet, "name"},
    {"record_declaration", Shape::kQuiet, "name"},
    {"method_declaration", Shape::kQuiet, "name"},
    {"constructor_declaration", Shape::kQuiet, "name"},
    {"while_statement", Shape::kLoop, "condition"},
    {"do_statement", Shape::kLoop, "condition"},
    {"for_statement", Shape::kLoop, "condition"},
    {"break_statement", Shape::kLeave},
    {"return_statement", Shape::kLeave},
    {"throw_statement", Shape::kLeave},
    {"local_variable_declaration", Shape::kOwn},
    {"field_declaration", Shape::kOwn},
    {"lambda_expression", Shape::kOwn},
    {"import_declaration", Shape::kOwn},
    {"package_declaration", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"Runtime*.exec", Does::kRun},
    {"ProcessBuilder", Does::kArgv},
    {"ProcessBuilder*.command", Does::kArgv},
    {"Class.forName", Does::kNamed},
    {"*.loadClass", Does::kNamed},
    {"java.io.FileReader", Does::kRead},
    {"java.io.FileInputStream", Does::kRead},
    {"java.io.RandomAccessFile", Does::kWrite},
    {"java.io.FileWriter", Does::kWrite},
    {"java.io.FileOutputStream", Does::kWrite},
    {"java.io.PrintWriter", Does::kWrite},
    {"java.nio.file.Files.read*", Does::kRead},
    {"java.nio.file.Files.lines", Does::kRead},
    {"java.nio.file.Files.list", Does::kRead},
    {"java.nio.file.Files.walk", Does::kRead},
    {"java.nio.file.Files.new*Reader", Does::kRead},
    {"java.nio.file.Files.newInputStream", Does::kRead},
    {"java.nio.file.Files.write*", Does::kWrite},
    {"java.nio.file.Files.create*", Does::kWrite},
    {"java.nio.file.Files.delete*", Does::kWrite},
    {"java.nio.file.Files.new*Writer", Does::kWrite},
    {"java.nio.file.Files.newOutputStream", Does::kWrite},
    {"java.nio.file.Files.copy", Does::kWrite, 2},
    {"java.nio.file.Files.move", Does::kWrite, 2},
    {"java.net.Socket", Does::kHost},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"String", Fold::kSame},
    {"String.valueOf", Fold::kSame},
    {"StringBuilder", Fold::kSame},
    {"StringBuffer", Fold::kSame},
    {"java.io.File", Fold::kSame},
    {"java.nio.file.Path.of", Fold::kSame},
    {"java.nio.file.Paths.get", Fold::kSame},
});

constexpr auto kAttributes = std::to_array<std::string_view>(
    {"getClass", "getClassLoader", "getMethod*", "getDeclared*", "getField*", "getConstructor*",
     "invoke", "invokeExact", "setAccessible", "newInstance", "defineClass", "loadClass", "forName",
     "getRuntime"});

constexpr auto kKept =
    std::to_array<std::string_view>({"Runtime", "ProcessBuilder", "Process*", "System", "Class*",
                                     "Thread", "java", "javax", "sun"});

class Java : public Program {
 public:
  using Program::Program;

 protected:
  [[nodiscard]] std::string join(const std::string& name, const std::string& key) const override {
    return name == "this" ? key : Program::join(name, key);
  }
  void used(const std::string& name, Node node) override;
  void learn(Node node) override;
};

// A class may be named with its package in place of an import.
void Java::used(const std::string& name, Node node) {
  Program::used(name, node);
  if ((name.starts_with("java.") || name.starts_with("javax.")) &&
      name.find('(') == std::string::npos) {
    const auto first =
        std::ranges::find_if(name, [](unsigned char c) { return std::isupper(c) != 0; });
    if (first != name.end()) {
      add(Kind::kModule, name, node);
    }
  }
}

void Java::learn(Node node) {
  if (node.is("import_declaration") || node.is("package_declaration")) {
    be_quiet_within(node);
    const std::vector<Node> parts = node.named_children();
    if (node.is("package_declaration") || parts.empty()) {
      return;
    }
    const std::string name = path_of(parts.front());
    const std::size_t last = name.rfind('.');
    import_module(name, node);
    if (parts.size() > 1) {
      open_module(name);
    } else if (last != std::string::npos) {
      bind_name(name.substr(last + 1), name);
    }
  } else if (node.is("lambda_expression")) {
    const Node parameters = node.field("parameters");
    be_quiet_within(parameters);
    for (const Node each :
         parameters.is("identifier") ? std::vector{parameters} : parameters.named_children()) {
      if (each.is("identifier")) {
        declare(each);
      }
    }
  } else {
    const Node declarator = node.field("declarator");
    bind_type(path_of(declarator.field("name")), node.field("type"));
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<Java>(source, facts);
}

// Java's compiler reads \u0041 as the letter wherever it stands, before it looks for comments.
std::string prepared(std::string_view code) {
  std::string text;
  text.reserve(code.size());
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] != '\\' || at + 1 == code.size()) {
      text += code[at];
      continue;
    }
    std::size_t digits = at + 1;
    while (digits < code.size() && code[digits] == 'u') {
      ++digits;
    }
    if (digits == at + 1 || digits + 4 > code.size()) {
      text += code.substr(at, 2);  // "\\" hides the next one.
      ++at;
      continue;
    }
    text += unescaped("\\u" + std::string(code.substr(digits, 4)));
    at = digits + 3;
  }
  return text;
}

}  // namespace

const Dialect kJava = {.language = "java",
                       .title = "Java",
                       .grammar = tree_sitter_java,
                       .forms = kForms,
                       .rules = kRules,
                       .folds = kFolds,
                       .attributes = kAttributes,
                       .kept = kKept,
                       .implied = "java.lang.",
                       .prepared = prepared,
                       .make = make};

}  // namespace glovebox::analyser::syntax
