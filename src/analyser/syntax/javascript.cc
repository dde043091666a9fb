// SPDX-License-Identifier: Apache-2.0
// JavaScript and TypeScript: the names that Node.js gives them, and what the built-in functions
// make of constants.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "analyser/python_decoders.h"
#include "analyser/syntax/program.h"
#include "analyser/syntax/texts.h"
#include "base/text.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr auto kForms = std::to_array<Form>({
    {"update_expression", Shape::kChange, "argument"},
    {"identifier", Shape::kId},
    {"shorthand_property_identifier", Shape::kId},
    {"import", Shape::kId},
    {"member_expression", Shape::kMember, "object", "property"},
    {"subscript_expression", Shape::kSubscript, "object", "index"},
    {"call_expression", Shape::kCall, "function", "", "arguments"},
    {"new_expression", Shape::kCall, "constructor", "", "arguments"},
    {"string", Shape::kText},
    {"template_string", Shape::kText},
    {"number", Shape::kNumber},
    {"true", Shape::kTrue},
    {"array", Shape::kList},
    {"parenthesized_expression", Shape::kSame},
    {"await_expression", Shape::kSame},
    {"ternary_expression", Shape::kSame, "consequence", "alternative"},
    {"sequence_expression", Shape::kSame},
    {"binary_expression", Shape::kBinary, "left", "right"},
    {"variable_declarator", Shape::kBind, "name", "value"},
    {"assignment_expression", Shape::kBind, "left", "right"},
    {"augmented_assignment_expression", Shape::kBind, "left", "right"},
    {"assignment_pattern", Shape::kBind, "left", "right"},
    {"function_declaration", Shape::kDeclare, "name"},
    {"pair", Shape::kPair, "key", "value"},
    {"while_statement", Shape::kLoop, "condition"},
    {"do_statement", Shape::kLoop, "condition"},
    {"for_statement", Shape::kOwn},
    {"break_statement", Shape::kLeave},
    {"return_statement", Shape::kLeave},
    {"throw_statement", Shape::kLeave},
    {"yield_expression", Shape::kLeave},
    {"arrow_function", Shape::kOwn},
    {"formal_parameters", Shape::kOwn},
    {"import_statement", Shape::kOwn},
    {"export_statement", Shape::kOwn},
    // What TypeScript adds.
    {"as_expression", Shape::kSame, "0"},
    {"satisfies_expression", Shape::kSame, "0"},
    {"type_assertion", Shape::kSame, "1"},
    {"non_null_expression", Shape::kSame},
    {"required_parameter", Shape::kOwn},
    {"optional_parameter", Shape::kOwn},
    {"import_require_clause", Shape::kOwn},
});

constexpr auto kRules = std::to_array<Rule>({
    {"require", Does::kLoad},
    {"import", Does::kLoad},
    {"module.require", Does::kLoad},
    {"process.mainModule.require", Does::kLoad},
    {"module.createRequire()", Does::kLoad},
    {"process.getBuiltinModule", Does::kLoad},
    {"module.constructor._load", Does::kLoad},
    {"module._load", Does::kLoad},
    {"eval", Does::kCode},
    {"vm.runInThisContext", Does::kCode},
    {"vm.runInNewContext", Does::kCode},
    {"vm.Script", Does::kCode},
    {"Function", Does::kCode, -1},
    {"child_process.exec", Does::kShell},
    {"child_process.execSync", Does::kShell},
    {"child_process.spawn", Does::kArgv},
    {"child_process.spawnSync", Does::kArgv},
    {"child_process.execFile", Does::kArgv},
    {"child_process.execFileSync", Does::kArgv},
    {"child_process.*", Does::kSpawn},
    {"fs.read*", Does::kRead},
    {"fs.promises.read*", Does::kRead},
    {"fs.stat*", Does::kRead},
    {"fs.promises.stat*", Does::kRead},
    {"fs.access*", Does::kRead},
    {"fs.promises.access*", Does::kRead},
    {"fs.createReadStream", Does::kRead},
    {"fs.copyFile*", Does::kRead},
    {"fs.copyFile*", Does::kWrite, 2},
    {"fs.rename*", Does::kWrite, 2},
    {"fs.write*", Does::kWrite},
    {"fs.append*", Does::kWrite},
    {"fs.unlink*", Does::kWrite},
    {"fs.rm*", Does::kWrite},
    {"fs.mkdir*", Does::kWrite},
    {"fs.open*", Does::kWrite},
    {"fs.createWrite*", Does::kWrite},
    {"fs.rename*", Does::kWrite},
    {"fs.chmod*", Does::kWrite},
    {"fs.chown*", Does::kWrite},
    {"fs.truncate*", Does::kWrite},
    {"fs.symlink*", Does::kWrite},
    {"fs.promises.write*", Does::kWrite},
    {"fs.promises.append*", Does::kWrite},
    {"fs.promises.unlink*", Does::kWrite},
    {"fs.promises.rm*", Does::kWrite},
    {"fs.promises.mkdir*", Does::kWrite},
    {"fs.promises.open*", Does::kWrite},
    {"fs.promises.copyFile*", Does::kWrite, 2},
    {"fs.promises.rename*", Does::kWrite},
    {"fs.promises.chmod*", Does::kWrite},
    {"fs.promises.chown*", Does::kWrite},
    {"fs.promises.truncate*", Does::kWrite},
    {"fs.promises.symlink*", Does::kWrite},
});

constexpr auto kFolds = std::to_array<FoldRule>({
    {"String.fromCharCode", Fold::kCharacters},
    {"String.fromCodePoint", Fold::kCharacters},
    {"String", Fold::kSame},
    {"atob", Fold::kBase64},
    {"decodeURIComponent", Fold::kPercents},
    {"unescape", Fold::kPercents},
});

constexpr auto kAttributes =
    std::to_array<std::string_view>({"mainModule", "constructor", "__?*__"});

constexpr auto kRoots = std::to_array<std::string_view>({"globalThis", "global", "window", "self"});
constexpr auto kGlobals = std::to_array<std::string_view>({"eval",
                                                           "Function",
                                                           "process",
                                                           "require",
                                                           "setTimeout",
                                                           "setInterval",
                                                           "fetch",
                                                           "WebSocket",
                                                           "XMLHttpRequest",
                                                           "Buffer",
                                                           "atob",
                                                           "module",
                                                           "Reflect",
                                                           "String",
                                                           "Deno",
                                                           "Bun",
                                                           "WebAssembly",
                                                           "importScripts",
                                                           "decodeURIComponent",
                                                           "unescape",
                                                           "import"});
constexpr auto kBuiltin = std::to_array<std::string_view>({"assert",
                                                           "async_hooks",
                                                           "buffer",
                                                           "child_process",
                                                           "cluster",
                                                           "console",
                                                           "constants",
                                                           "crypto",
                                                           "dgram",
                                                           "diagnostics_channel",
                                                           "dns",
                                                           "domain",
                                                           "events",
                                                           "fs",
                                                           "fs/promises",
                                                           "http",
                                                           "http2",
                                                           "https",
                                                           "inspector",
                                                           "module",
                                                           "net",
                                                           "os",
                                                           "path",
                                                           "path/posix",
                                                           "path/win32",
                                                           "perf_hooks",
                                                           "process",
                                                           "punycode",
                                                           "querystring",
                                                           "readline",
                                                           "repl",
                                                           "stream",
                                                           "stream/web",
                                                           "string_decoder",
                                                           "sys",
                                                           "timers",
                                                           "test",
                                                           "sqlite",
                                                           "timers/promises",
                                                           "tls",
                                                           "trace_events",
                                                           "tty",
                                                           "url",
                                                           "util",
                                                           "util/types",
                                                           "v8",
                                                           "vm",
                                                           "wasi",
                                                           "worker_threads",
                                                           "zlib",
                                                           "dns/promises",
                                                           "sea",
                                                           "stream/promises",
                                                           "readline/promises",
                                                           "inspector/promises",
                                                           "stream/consumers",
                                                           "assert/strict"});
constexpr auto kRequire = std::to_array<std::string_view>(
    {"require", "module.require", "process.mainModule.require", "module.createRequire()",
     "process.getBuiltinModule", "module.constructor._load", "module._load", "import"});

bool is_one(const auto& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

// slice(begin, end), where both may count from the end, or be missing.
std::string slice(const std::string& text, const std::vector<Value>& arguments) {
  const auto size = static_cast<double>(text.size());
  const auto at = [&](std::size_t number, double otherwise) {
    if (number >= arguments.size()) {
      return otherwise;
    }
    const double wanted = arguments[number].number;
    return std::clamp(wanted < 0 ? size + wanted : wanted, 0.0, size);
  };
  const auto begin = static_cast<std::size_t>(at(0, 0));
  const auto end = static_cast<std::size_t>(at(1, size));
  return end > begin ? text.substr(begin, end - begin) : std::string();
}

std::string replaced(std::string text, const std::string& from, const std::string& to, bool all) {
  for (std::size_t at = text.find(from); !from.empty() && at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    if (!all || text.size() > 64UL * 1024) {
      break;
    }
  }
  return text;
}

Value split(const std::string& text, const std::string& by) {
  Value list{.kind = Value::Kind::kList};
  if (by.empty()) {
    for (const char c : text) {
      list.items.emplace_back(1, c);
    }
    return list;
  }
  std::size_t at = 0;
  for (std::size_t end = text.find(by); end != std::string::npos; end = text.find(by, at)) {
    list.items.push_back(text.substr(at, end - at));
    at = end + by.size();
  }
  list.items.push_back(text.substr(at));
  return list;
}

class JavaScript : public Program {
 public:
  using Program::Program;

 protected:
  [[nodiscard]] std::optional<std::string> root(std::string_view name) const override {
    return is_one(kGlobals, name) || is_one(kRoots, name) || is_one(kBuiltin, name)
               ? std::optional(std::string(name))
               : std::nullopt;
  }
  [[nodiscard]] std::string module_name(std::string_view text) const override;
  [[nodiscard]] std::string join(const std::string& name, const std::string& key) const override;
  std::optional<Values> returned(const std::string& name, const Role& call) override;
  std::optional<Value> method(const Value& value,
                              const std::string& key,
                              const Role& call) override;
  void called(const std::string& name, const Role& call) override;
  void used(const std::string& name, Node node) override;
  [[nodiscard]] std::optional<std::string> member_of_unknown(
      const std::string& key) const override {
    return key == "constructor" ? std::optional(key) : std::nullopt;
  }
  void assign(Node target, Node value, Node type, bool grows) override;
  void declare(Node name) override;
  void learn(Node node) override;
  void tell(Node node) override;

 private:
  void assign_pattern(Node target, Node value, std::vector<std::string> keys);
  void assign_property(Node property, Node value, std::vector<std::string> keys);
  void learn_import(Node node, const std::string& module);
};

std::string JavaScript::module_name(std::string_view text) const {
  if (text.starts_with("node:")) {
    text.remove_prefix(5);
  }
  std::string name(text);
  if (is_one(kBuiltin, text)) {
    std::ranges::replace(name, '/', '.');
  } else if (name.starts_with("../")) {
    name.erase(0, 1);
  }
  return name;
}

std::string JavaScript::join(const std::string& name, const std::string& key) const {
  if (is_one(kRoots, name)) {
    return key;
  }
  return key == "default" || key == "call" || key == "apply" || key == "bind" ? name
                                                                              : name + "." + key;
}

// A target may be a pattern in which names stand for parts of the value.
void JavaScript::assign(Node target, Node value, Node type, bool grows) {
  if (grows || target.is("member_expression") || target.is("subscript_expression")) {
    Program::assign(target, value, type, grows);
  } else if (value) {
    assign_pattern(target, value, {});
  } else {
    declare(target);
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
void JavaScript::assign_pattern(Node target, Node value, std::vector<std::string> keys) {
  if (target.is("object_assignment_pattern") || target.is("assignment_pattern")) {
    assign_pattern(target.field("left"), value, std::move(keys));
  } else if (target.is("object_pattern")) {
    for (const Node each : target.named_children()) {
      assign_property(each, value, keys);
    }
  } else if (target.is("array_pattern") && value.is("array") && keys.empty()) {
    const std::vector<Node> items = value.named_children();
    const std::vector<Node> targets = target.named_children();
    for (std::size_t at = 0; at < std::min(items.size(), targets.size()); ++at) {
      assign_pattern(targets[at], items[at], {});
    }
  } else if (target.is("identifier") || target.is("shorthand_property_identifier_pattern")) {
    be_quiet(target);
    bind_value(path_of(target), value, std::move(keys));
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
void JavaScript::assign_property(Node property, Node value, std::vector<std::string> keys) {
  if (property.is("pair_pattern")) {
    const Node key = property.field("key");
    const std::vector<Node> computed = key.named_children();
    const std::vector<std::string> known =
        texts(key.is("computed_property_name") && !computed.empty() ? computed.front() : key);
    keys.push_back(known.empty() ? path_of(key) : known.front());
    assign_pattern(property.field("value"), value, std::move(keys));
  } else if (property.is("shorthand_property_identifier_pattern") ||
             property.is("object_assignment_pattern")) {
    const Node own = property.is("object_assignment_pattern") ? property.field("left") : property;
    keys.push_back(path_of(own));
    assign_pattern(own, value, std::move(keys));
  }
}

void JavaScript::declare(Node name) {
  // A parameter with the name of a global hides the global in one function only.
  const bool is_name = name.is("identifier") || name.is("shorthand_property_identifier_pattern");
  if (is_name && !root(path_of(name))) {
    hide(path_of(name));
  }
}

void JavaScript::learn_import(Node node, const std::string& module) {
  if (node.is("identifier")) {
    be_quiet(node);
    bind_name(path_of(node), module);
  } else if (node.is("namespace_import")) {
    learn_import(node.named_children().front(), module);
  } else if (node.is("import_specifier")) {
    const Node name = node.field("name");
    const Node alias = node.field("alias");
    be_quiet(name);
    be_quiet(alias);
    bind_name(path_of(alias ? alias : name), join(module, path_of(name)));
  } else if (node.is("import_clause") || node.is("named_imports")) {
    for (const Node each : node.named_children()) {
      learn_import(each, module);
    }
  }
}

void JavaScript::learn(Node node) {
  if (node.is("import_statement") || node.is("export_statement") ||
      node.is("import_require_clause")) {
    const std::vector<std::string> source = texts(node.field("source"));
    if (source.empty()) {
      return;
    }
    import_module(module_name(source.front()), node.field("source"));
    for (const Node each : node.named_children()) {
      if (!node.is("export_statement")) {
        learn_import(each, module_name(source.front()));
      }
    }
  } else if (node.is("arrow_function")) {
    declare(node.field("parameter"));
    be_quiet(node.field("parameter"));
  } else if (node.is("formal_parameters")) {
    for (const Node each : node.named_children()) {
      declare(each);
      if (each.is("identifier")) {
        be_quiet(each);
      }
    }
  } else if (node.is("required_parameter") || node.is("optional_parameter")) {
    assign(node.field("pattern"), node.field("value"), {}, false);
    be_quiet(node.field("pattern"));
  }
}

void JavaScript::tell(Node node) {
  if (node.is("for_statement")) {
    const Node condition = node.field("condition");
    if (!condition || condition.is("empty_statement")) {
      loop(node, {});
    } else {
      loop(node,
           condition.is("expression_statement") ? condition.named_children().front() : condition);
    }
  }
}

std::optional<Values> JavaScript::returned(const std::string& name, const Role& call) {
  Values all;
  if (is_one(kRequire, name)) {
    for (const std::string& text : texts(argument(call, 1))) {
      all.push_back(Value::name_of(module_name(text)));
    }
    return all;
  }
  if (name == "Reflect.get") {
    for (const std::string& owner : names(argument(call, 1))) {
      for (const std::string& key : texts(argument(call, 2))) {
        all.push_back(Value::name_of(join(owner, key)));
      }
    }
    return all;
  }
  // What bind() returns is the function itself; see join().
  const Role callee = role_of(call.one);
  if (callee.is(Shape::kMember) && callee.other.text() == "bind") {
    return Values{Value::name_of(name)};
  }
  const auto given = name == "Buffer.from" ? constants(call) : std::nullopt;
  if (given && !given->empty() && given->front().is_text()) {
    const std::string& text = given->front().text;
    const std::string encoding = given->size() > 1 ? (*given)[1].text : "utf8";
    const auto decoded = encoding == "hex" ? from_hex(text)
                         : encoding.starts_with("base64")
                             ? from_base64(text, encoding == "base64url")
                             : std::optional(text);
    return decoded ? Values{Value::text_of(*decoded)} : Values{};
  }
  return std::nullopt;
}

std::optional<Value> JavaScript::method(const Value& value,
                                        const std::string& key,
                                        const Role& call) {
  const auto given = constants(call);
  if (!given) {
    return std::nullopt;
  }
  const std::string first = given->empty() ? "" : given->front().text;
  if (value.kind == Value::Kind::kList && key == "join" && given->empty()) {
    std::string all;
    for (const std::string& item : value.items) {
      all += (all.empty() ? "" : ",") + item;
    }
    return Value::text_of(std::move(all));
  }
  if (value.kind == Value::Kind::kNumber && key == "toString" && given->empty()) {
    return Value::text_of(value.text);
  }
  if (value.is_text() && key == "toUpperCase") {
    return Value::text_of(upper_case(value.text));
  }
  if (value.is_text() && (key == "slice" || key == "substring")) {
    return Value::text_of(slice(value.text, *given));
  }
  if (value.is_text() && (key == "replace" || key == "replaceAll") && given->size() == 2) {
    return Value::text_of(replaced(value.text, first, (*given)[1].text, key == "replaceAll"));
  }
  if (value.is_text() && key == "split" && !given->empty()) {
    return split(value.text, first);
  }
  return Program::method(value, key, call);
}

void JavaScript::used(const std::string& name, Node node) {
  if (name == "constructor") {
    return;
  }
  Program::used(name, node);
  constexpr auto kAlways =
      std::to_array<std::string_view>({"process", "module", "buffer", "console"});
  std::string first = name.substr(0, name.find('.'));
  if (first.ends_with("()")) {
    first.resize(first.size() - 2);
  }
  if (is_one(kBuiltin, first) && !is_one(kAlways, first)) {
    add(Kind::kModule, first, node);
  }
}

void JavaScript::called(const std::string& name, const Role& call) {
  if (name == "constructor" || name == "constructor.constructor") {
    // A function's constructor makes functions from texts; any other makes its own kind of object.
    const Node code = argument(call, -1);
    if (code && (!texts(code).empty() || code.is("identifier"))) {
      add(Kind::kName, "Function", call.node);
      run_code(code, call.node);
    }
  } else if ((name == "setTimeout" || name == "setInterval") && !texts(argument(call, 1)).empty()) {
    add(Kind::kName, "eval", call.node);
    run_code(argument(call, 1), call.node);
  }
}

std::unique_ptr<Program> make(const Source& source, Facts& facts) {
  return std::make_unique<JavaScript>(source, facts);
}

constexpr Dialect dialect(std::string_view language,
                          std::string_view title,
                          const TSLanguage* (*grammar)()) {
  return {.language = language,
          .title = title,
          .grammar = grammar,
          .forms = kForms,
          .rules = kRules,
          .folds = kFolds,
          .attributes = kAttributes,
          .choosing = " || && ?? ",
          .subscripts_are_members = true,
          .make = make};
}

}  // namespace

const Dialect kJavaScript = dialect("javascript", "JavaScript", tree_sitter_javascript);
const Dialect kTypeScript = dialect("typescript", "TypeScript", tree_sitter_typescript);
const Dialect kTsx = dialect("tsx", "TypeScript with JSX", tree_sitter_tsx);

}  // namespace glovebox::analyser::syntax
