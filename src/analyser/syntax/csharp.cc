// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "analyser/syntax/program.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"identifier", Shape::kId},
    {"generic_name", Shape::kSame, "0"},
    {"qualified_name", Shape::kMember, "qualifier", "name"},
    {"alias_qualified_name", Shape::kMember, "", "name"},
    {"member_access_expression", Shape::kMember, "expression", "name"},
    {"member_binding_expression", Shape::kMember, "", "name"},
    {"element_access_expression", Shape::kSubscript, "expression", "subscript"},
    {"bracketed_argument_list", Shape::kSame},
    {"invocation_expression", Shape::kCall, "function", "", "arguments"},
    {"object_creation_expression", Shape::kCall, "type", "", "arguments"},
    {"argument", Shape::kSame},
    {"string_literal", Shape::kText},
    {"verbatim_string_literal", Shape::kText},
    {"raw_string_literal", Shape::kText},
    {"interpolated_string_expression", Shape::kText},
    {"integer_literal", Shape::kNumber},
    {"boolean_literal", Shape::kTrue},
    {"initializer_expression", Shape::kList},
    {"array_creation_expression", Shape::kSame, "1"},
    {"implicit_array_creation_expression", Shape::kSame},
    {"parenthesized_expression", Shape::kSame},
    {"conditional_access_expression", Shape::kSame, "1"},
    {"cast_expression", Shape::kSame, "value"},
    {"conditional_expression", Shape::kSame, "consequence", "alternative"},
    {"await_expression", Shape::kSame},
    {"binary_expression", Shape::kBinary, "left", "right"},
    {"assignment_expression", Shape::kBind, "left", "right"},
    {"variable_declarator", Shape::kBind, "name", "1"},
    {"parameter", Shape::kBind, "name", "", "type"},
    {"foreach_statement", Shape::kDeclare, "left"},
    {"class_declaration", Shape::kQuiet, "name"},
    {"struct_declaration", Shape::kQuiet, "name"},
    {"interface_declaration", Shape::kQuiet, "name"},
    {"enum_declaration", Shape::kQuiet, "name"},
    {"record_declaration", Shape::kQuiet, "name"},
    {"property_declaration", Shape::kQuiet, "name"},
    {"constructor_declaration", Shape::kQuiet, "name"},
    {"namespace_declaration", Shape::kQuiet, "name"},
    {"file_scoped_namespace_declaration", Shape::kQuiet, "name"},
    {"while_statement", Shape::kLoop, "condition"},
    {"do_statement", Shape::kLoop, "condition"},
    {"for_statement", Shape::kLoop, "condition"},
    {"break_statement", Shape::kLeave},
    {"return_statement", Shape::kLeave},
    {"throw_statement", Shape::kLeave},
    {"yield_statement", Shape::kLeave},
    {"goto_statement", Shape::kLeave},
    {"variable_declaration", Shape::kOwn},
    {"method_declaration", Shape::kOwn},
    {"using_directive", Shape::kOwn},
    {"unsafe_statement", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"*Process.Start", Does::kRun},
    {"*ProcessStartInfo", Does::kRun},
    {"*Type.GetType", Does::kNamed},
    {"*Assembly.Load*", Does::kLoad},
    {"*Activator.CreateInstance", Does::kMaybeNamed},
    {"*Activator.CreateInstance", Does::kMaybeNamed, 2},
    {"*File.Read*", Does::kRead},
    {"*File.OpenRead", Does::kRead},
    {"*File.OpenText", Does::kRead},
    {"*File.Open", Does::kWrite},
    {"*File.Write*", Does::kWrite},
    {"*File.Append*", Does::kWrite},
    {"*File.Create*", Does::kWrite},
    {"*File.Delete", Does::kWrite},
    {"*File.Copy", Does::kRead},
    {"*File.Copy", Does::kWrite, 2},
    {"*File.Move", Does::kWrite, 2},
    {"*StreamReader", Does::kRead},
    {"*StreamWriter", Does::kWrite},
    {"*FileStream", Does::kWrite},
    {"*Directory.Get*", Does::kRead},
    {"*Directory.Enumerate*", Does::kRead},
    {"*Directory.Create*", Does::kWrite},
    {"*Directory.Delete", Does::kWrite},
    {"*TcpClient", Does::kHost},
    {"*Dns.Get*", Does::kHost},
    {"*Environment.Exit", Does::kLeave},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"string.Concat", Fold::kConcat},
    {"String.Concat", Fold::kConcat},
    {"string.Join", Fold::kJoin},
    {"String.Join", Fold::kJoin},
});

constexpr auto kAttributes = std::to_array<std::string_view>(
    {"GetMethod*", "GetRuntimeMethod*", "GetField*", "GetProperty", "GetConstructor*",
     "InvokeMember", "Invoke", "DynamicInvoke", "CreateInstance*", "CreateDelegate",
     "GetTypeFromProgID", "GetTypeFromCLSID", "Assembly", "Module", "MethodHandle", "EntryPoint",
     "Emit", "StartInfo"});

constexpr auto kKept = std::to_array<std::string_view>(
    {"System", "Process*", "Type", "Activator", "Assembly", "Marshal", "Environment"});

class CSharp : public Program {
 public:
  using Program::Program;

 protected:
  [[nodiscard]] std::string join(const std::string& name, const std::string& key) const override {
    return name == "this" ? key : Program::join(name, key);
  }
  void used(const std::string& name, Node node) override {
    Program::used(name, node);
    // A class may be named with its namespace in place of a directive.
    if (name.starts_with("System.") || name.starts_with("Microsoft.") ||
        name.starts_with("Mono.")) {
      add(Kind::kModule, name, node);
    }
  }
  void learn(Node node) override;
  void tell(Node node) override;
};

void CSharp::learn(Node node) {
  if (node.is("using_directive")) {
    const std::vector<Node> parts = node.named_children();
    const Node alias = node.field("name");
    be_quiet_within(node);
    if (parts.empty()) {
      return;
    }
    const std::string name = path_of(parts.back());
    import_module(name, node);
    if (alias) {
      bind_name(path_of(alias), name);
    } else {
      open_module(name);
    }
  } else if (node.is("method_declaration")) {
    be_quiet(node.field("name"));
  } else if (node.is("variable_declaration") && !node.field("type").is("implicit_type")) {
    for (const Node each : node.named_children()) {
      if (each.is("variable_declarator")) {
        bind_type(path_of(each.field("name")), node.field("type"));
      }
    }
  }
}

void CSharp::tell(Node node) {
  if (node.is("unsafe_statement")) {
    used("unsafe", node);
  } else if (node.is("method_declaration")) {
    // A function of a library that is not written in C#.
    for (const Node each : node.named_children()) {
      if (each.is("modifier") && (each.text() == "extern" || each.text() == "unsafe")) {
        used(std::string(each.text()), each);
      }
    }
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<CSharp>(source, facts);
}

}  // namespace

const Dialect kCSharp = {.language = "csharp",
                         .title = "C#",
                         .grammar = tree_sitter_c_sharp,
                         .forms = kForms,
                         .rules = kRules,
                         .folds = kFolds,
                         .attributes = kAttributes,
                         .kept = kKept,
                         .choosing = " ?? ",
                         .make = make};

}  // namespace glovebox::analyser::syntax
