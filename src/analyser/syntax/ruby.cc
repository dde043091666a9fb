// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "analyser/syntax/program.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"identifier", Shape::kId},
    {"constant", Shape::kId},
    {"global_variable", Shape::kId},
    {"instance_variable", Shape::kId},
    {"class_variable", Shape::kId},
    {"scope_resolution", Shape::kMember, "scope", "name"},
    {"element_reference", Shape::kSubscript, "object", "1"},
    {"call", Shape::kCall, "receiver", "method", "arguments"},
    {"string", Shape::kText},
    {"bare_string", Shape::kText},
    {"bare_symbol", Shape::kText},
    {"simple_symbol", Shape::kText},
    {"delimited_symbol", Shape::kText},
    {"heredoc_body", Shape::kText},
    {"chained_string", Shape::kConcat},
    {"integer", Shape::kNumber},
    {"true", Shape::kTrue},
    {"array", Shape::kList},
    {"string_array", Shape::kList},
    {"symbol_array", Shape::kList},
    {"parenthesized_statements", Shape::kSame},
    {"block_argument", Shape::kSame},
    {"splat_argument", Shape::kSame},
    {"conditional", Shape::kSame, "consequence", "alternative"},
    {"left_assignment_list", Shape::kSame},
    {"binary", Shape::kBinary, "left", "right"},
    {"assignment", Shape::kBind, "left", "right"},
    {"operator_assignment", Shape::kBind, "left", "right"},
    {"optional_parameter", Shape::kBind, "name", "value"},
    {"keyword_parameter", Shape::kBind, "name", "value"},
    {"pair", Shape::kPair, "key", "value"},
    {"method", Shape::kQuiet, "name"},
    {"singleton_method", Shape::kQuiet, "name"},
    {"class", Shape::kQuiet, "name"},
    {"module", Shape::kQuiet, "name"},
    {"while", Shape::kLoop, "condition"},
    {"while_modifier", Shape::kLoop, "condition"},
    {"break", Shape::kLeave},
    {"return", Shape::kLeave},
    {"method_parameters", Shape::kOwn},
    {"block_parameters", Shape::kOwn},
    {"lambda_parameters", Shape::kOwn},
    {"until", Shape::kOwn},
    {"until_modifier", Shape::kOwn},
    {"subshell", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"system", Does::kRun},
    {"exec", Does::kRun},
    {"spawn", Does::kRun},
    {"syscall", Does::kNamed},
    {"Process.spawn", Does::kRun},
    {"Process.exec", Does::kRun},
    {"IO.popen", Does::kRun},
    {"PTY.spawn", Does::kRun},
    {"Open3.*", Does::kRun},
    {"fork", Does::kSpawn},
    {"Process.fork", Does::kSpawn},
    {"require", Does::kLoad},
    {"require_relative", Does::kLoad},
    {"load", Does::kLoad},
    {"autoload", Does::kLoad, 2},
    {"eval", Does::kCode},
    {"instance_eval", Does::kCode},
    {"class_eval", Does::kCode},
    {"module_eval", Does::kCode},
    {"*.eval", Does::kCode},
    {"*.instance_eval", Does::kCode},
    {"*.class_eval", Does::kCode},
    {"*.module_eval", Does::kCode},
    {"send", Does::kNamed},
    {"__send__", Does::kNamed},
    {"public_send", Does::kNamed},
    {"method", Does::kNamed},
    {"*.send", Does::kNamed},
    {"*.__send__", Does::kNamed},
    {"*.public_send", Does::kNamed},
    {"*.method", Does::kNamed},
    {"const_get", Does::kNamed},
    {"*.const_get", Does::kNamed},
    {"alias_method", Does::kNamed, 2},
    {"*.alias_method", Does::kNamed, 2},
    {"open", Does::kOpen},
    {"File.open", Does::kOpen},
    {"File.new", Does::kOpen},
    {"File.read*", Does::kRead},
    {"File.foreach", Does::kRead},
    {"IO.read*", Does::kRead},
    {"IO.foreach", Does::kRead},
    {"Dir.*", Does::kRead},
    {"File.write", Does::kWrite},
    {"IO.write", Does::kWrite},
    {"IO.binwrite", Does::kWrite},
    {"File.delete", Does::kWrite},
    {"File.unlink", Does::kWrite},
    {"File.rename", Does::kWrite, 2},
    {"File.symlink", Does::kWrite, 2},
    {"Dir.mkdir", Does::kWrite},
    {"Dir.rmdir", Does::kWrite},
    {"FileUtils.*", Does::kWrite, -1},
    {"TCPSocket.*", Does::kHost},
    {"UDPSocket.*", Does::kHost},
    {"Net.HTTP.get*", Does::kHost},
    {"Net.HTTP.start", Does::kHost},
    {"exit", Does::kLeave},
    {"exit!", Does::kLeave},
    {"raise", Does::kLeave},
    {"throw", Does::kLeave},
});

constexpr auto kAttributes = std::to_array<std::string_view>(
    {"send", "__send__", "public_send", "instance_eval", "instance_exec", "class_eval",
     "module_eval", "class_exec", "const_get", "const_missing", "instance_method", "method",
     "define_method", "instance_variable_get", "instance_variable_set", "binding", "eval"});

constexpr auto kKept =
    std::to_array<std::string_view>({"system", "exec", "spawn", "fork", "eval", "syscall", "open"});

class Ruby : public Program {
 public:
  using Program::Program;

 protected:
  [[nodiscard]] std::string join(const std::string& name, const std::string& key) const override;
  std::optional<Values> returned(const std::string& name, const Role& call) override;
  void called(const std::string& name, const Role& call) override;
  void learn(Node node) override;
  void tell(Node node) override;
};

std::string Ruby::join(const std::string& name, const std::string& key) const {
  if (name == "Kernel" || name == "Object" || name == "self" || name == "main") {
    return key;
  }
  return key == "call" || key == "to_proc" || key == "unbind" ? name : name + "." + key;
}

std::optional<Values> Ruby::returned(const std::string& name, const Role& call) {
  const bool by_name = name == "method" || name.ends_with(".method") || name == "const_get" ||
                       name.ends_with(".const_get");
  if (!by_name) {
    return std::nullopt;
  }
  Values all;
  for (const std::string& text : texts(argument(call, 1))) {
    all.push_back(Value::name_of(text));
  }
  return all;
}

void Ruby::called(const std::string& name, const Role& call) {
  if (name == "loop") {
    loop(call.node, {});
  } else if (name == "open" || name.starts_with("IO.") || name == "URI.open") {
    // A pipe in place of a path.
    for (const std::string& text : texts(argument(call, 1))) {
      if (text.starts_with('|')) {
        run_shell({text.substr(1)}, call.node);
      }
    }
  }
}

void Ruby::learn(Node node) {
  if (!node.type().ends_with("_parameters")) {
    return;
  }
  for (const Node each : node.named_children()) {
    if (each.is("identifier")) {
      declare(each);
      be_quiet(each);
    }
  }
}

void Ruby::tell(Node node) {
  if (node.is("subshell")) {
    run_shell(text_of(node), node);
  } else if (node.type().starts_with("until") && node.field("condition").is("false")) {
    loop(node, {});
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<Ruby>(source, facts);
}

}  // namespace

const Dialect kRuby = {.language = "ruby",
                       .title = "Ruby",
                       .grammar = tree_sitter_ruby,
                       .forms = kForms,
                       .rules = kRules,
                       .attributes = kAttributes,
                       .kept = kKept,
                       .joining = " + << ",
                       .choosing = " || or && and ",
                       .make = make};

}  // namespace glovebox::analyser::syntax
