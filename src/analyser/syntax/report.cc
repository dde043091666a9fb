// SPDX-License-Identifier: Apache-2.0
// The facts about a program, from what its parts are and stand for.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "analyser/secrets.h"
#include "analyser/shell.h"
#include "analyser/syntax/program.h"
#include "base/glob.h"
#include "base/text.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr std::size_t kMostWords = 256;
constexpr std::string_view kUnknownWord = "$?";

bool any_within(const std::vector<std::uint32_t>& places, Node node) {
  const auto found = std::ranges::lower_bound(places, node.begin());
  return found != places.end() && *found < node.end();
}

bool is_like(std::span<const std::string_view> globs, std::string_view text) {
  return std::ranges::any_of(globs,
                             [text](std::string_view glob) { return matches_glob(glob, text); });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() < 100 && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\\' || c == ':';
  });
}

// A name without what marks a variable: "password" for "$password" or ":password".
std::string_view without_sigil(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of("$@:'\"`*&"), name.size()));
  return name.substr(0, name.find_first_of("'\"`:[ "));
}

}  // namespace

void Program::add(Kind kind, std::string_view name, Node node) {
  facts_.add(kind, name, lines_.place(node.begin()));
}

void Program::import_module(const std::string& name, Node node) {
  imported_.push_back({.name = name, .node = node});
}

// What is inside parentheses and the like.
Node Program::unwrapped(Node node) const {
  std::vector<Node> inside = node.named_children();
  while (role_of(node).is(Shape::kSame) && inside.size() == 1) {
    node = inside.front();
    inside = node.named_children();
  }
  return node;
}

// Collects what there is in the program, and what its names are bound to.
void Program::collect() {
  Walk walk(tree_.root());
  while (const Node node = walk.next()) {
    const Role role = role_of(node);
    if (role.form == nullptr) {
      continue;
    }
    switch (role.form->shape) {
      case Shape::kId:
        for (const Node part : node.named_children()) {
          be_quiet(part);
        }
        break;
      case Shape::kBind:
        bind(role);
        break;
      case Shape::kChange:
        assign(role.one, {}, {}, true);
        break;
      case Shape::kDeclare:
        declare(role.one);
        be_quiet(role.one);
        break;
      case Shape::kQuiet:
        be_quiet(role.one);
        break;
      case Shape::kMember:
        be_quiet(role.other);
        break;
      case Shape::kCall:
        if (role.other) {
          be_quiet(role.other);
        }
        break;
      case Shape::kOwn:
        learn(node);
        break;
      case Shape::kLoop:
        loop(node, role.one);
        break;
      case Shape::kLeave:
        leaving_.push_back(node.begin());
        break;
      default:
        break;
    }
    in_order_.push_back(node);
  }
}

void Program::report() {
  collect();
  for (const Imported& each : imported_) {
    add(Kind::kModule, each.name, each.node);
  }
  for (const Node node : in_order_) {
    report_role(role_of(node));
  }
  std::ranges::sort(leaving_);
  std::ranges::sort(spawning_);
  for (const Loop& each : loops_) {
    report_loop(each);
  }
  if (budget_ < 0) {
    add(Kind::kUnparsed, "the program is too entangled to follow", tree_.root());
  }
}

// The name that a text is, in the form in which uses of names are reported.
std::string Program::canonical(std::string_view name) const {
  if (!dialect_.implied.empty() && name.starts_with(dialect_.implied)) {
    name.remove_prefix(dialect_.implied.size());
  }
  name.remove_prefix(dialect_.ignores_case && name.starts_with('\\') ? 1 : 0);
  return dialect_.ignores_case ? lower_case(name) : std::string(name);
}

void Program::used(const std::string& name, Node node) { add(Kind::kName, name, node); }

void Program::report_role(const Role& role) {
  switch (role.form->shape) {
    case Shape::kId:
      if (!quiet_.contains(role.node.id())) {
        for (const std::string& name : names(role.node)) {
          used(name, role.node);
        }
      }
      return;
    case Shape::kMember:
    case Shape::kSubscript:
      return quiet_.contains(role.node.id()) ? void() : report_member(role);
    case Shape::kCall:
      return report_call(role);
    case Shape::kText:
      return report_text(role.node);
    case Shape::kBinary:
    case Shape::kConcat:
      if (dialect_.texts_are_functions) {
        for (const std::string& text : texts(role.node)) {
          if (is_name(text)) {
            used(canonical(text), role.node);
          }
        }
      }
      return;
    case Shape::kBind:
    case Shape::kPair:
      return report_secret(role.one, role.other);
    case Shape::kOwn:
      return tell(role.node);
    default:
      return;
  }
}

void Program::report_member(const Role& role) {
  const std::vector<std::string> all = names(role.node);
  for (const std::string& name : all) {
    used(name, role.node);
  }
  for (const std::string& key : keys(role)) {
    if (is_like(dialect_.attributes, key)) {
      add(Kind::kAttribute, key, role.node);
    }
  }
  if (dialect_.subscripts_are_members && role.is(Shape::kSubscript) && all.empty() &&
      !names(role.one).empty() && of(role.other).empty()) {
    add(Kind::kPattern, "dynamic-attribute", role.node);
  }
}

void Program::report_call(const Role& role) {
  const std::vector<std::string> callees = callee_names(role);
  const Role callee = role_of(role.one);
  for (const std::string& name : callees) {
    if (role.other || !callee.is(Shape::kMember)) {
      used(name, role.node);
    }
    called(name, role);
    for (const Rule& rule : dialect_.rules) {
      if (matches_glob(rule.names, name)) {
        report_rule(rule, role);
      }
    }
  }
  if (callees.empty()) {
    called_unknown(role);
  }
  if (role.other && is_like(dialect_.attributes, path_of(role.other))) {
    add(Kind::kAttribute, path_of(role.other), role.node);
  }
  if (dialect_.texts_are_functions) {
    for (const std::string& text : texts(role.node)) {
      if (is_name(text)) {
        used(canonical(text), role.node);
      }
    }
  }
}

void Program::report_text(Node node) {
  std::vector<std::string> all = texts(node);
  if (all.empty()) {
    all.emplace_back(node.text());  // With placeholders; a host that has one is not reported.
  }
  for (const std::string& text : all) {
    for (const std::string& host : hosts_in(text)) {
      if (host.find_first_of("{%$#") == std::string::npos) {
        add(Kind::kHost, host, node);
      }
    }
    if (has_token(text)) {
      add(Kind::kPattern, "credential", node);
    }
    if (dialect_.texts_are_functions && is_name(text)) {
      used(canonical(text), node);
    }
  }
}

void Program::report_secret(Node name, Node value) {
  const Role owned = role_of(name);
  const std::string_view own =
      owned.is(Shape::kMember) ? owned.other.text() : without_sigil(name.text());
  if (!names_secret(own)) {
    return;
  }
  const Node text = unwrapped(value);
  if (role_of(text).is(Shape::kText) && std::ranges::any_of(texts(text), may_be_secret)) {
    add(Kind::kPattern, "credential", name);
  }
}

void Program::report_rule(const Rule& rule, const Role& call) {
  const Node about = argument(call, rule.argument);
  switch (rule.does) {
    case Does::kShell:
    case Does::kArgv:
    case Does::kExec:
    case Does::kRun:
      return about ? report_script(rule, call) : void();
    case Does::kCode:
      return about ? run_code(about, call.node) : void();
    case Does::kLoad:
      return about ? load(about, call.node) : void();
    case Does::kNamed:
    case Does::kMaybeNamed: {
      const std::vector<std::string> all = texts(about);
      for (const std::string& name : all) {
        used(canonical(name), call.node);
      }
      if (all.empty() && about && rule.does == Does::kNamed && names(about).empty()) {
        add(Kind::kPattern, "dynamic-attribute", call.node);
      }
      return;
    }
    case Does::kRead:
    case Does::kWrite:
    case Does::kOpen:
    case Does::kHost:
      return report_path(rule, call);
    case Does::kSpawn:
      spawning_.push_back(call.node.begin());
      return;
    case Does::kLeave:
      leaving_.push_back(call.node.begin());
      return;
  }
}

void Program::report_path(const Rule& rule, const Role& call) {
  Kind kind = rule.does == Does::kHost   ? Kind::kHost
              : rule.does == Does::kRead ? Kind::kFileRead
                                         : Kind::kFileWrite;
  if (rule.does == Does::kOpen) {
    const Node mode = argument(call, rule.argument + 1);
    const std::vector<std::string> known = texts(mode);
    const bool reads = known.empty() ? mode.text().find_first_of("WCA") == std::string_view::npos
                                     : known.front().find_first_of("wacx+") == std::string::npos;
    kind = reads ? Kind::kFileRead : Kind::kFileWrite;
  }
  for (const std::string& text : texts(argument(call, rule.argument))) {
    if (kind == Kind::kHost) {
      add(kind, lower_case(text.substr(0, text.find(':'))), call.node);
    } else if (text.find("://") == std::string::npos) {
      add(kind, text, call.node);
    }
  }
}

// The arguments after the one that a rule is about, as words.
std::vector<std::string> Program::words_behind(const Rule& rule, const Role& call, bool& alone) {
  std::vector<std::string> words;
  const std::vector<Node> all = arguments(call);
  for (auto at = static_cast<std::size_t>(rule.argument);
       at < all.size() && words.size() < kMostWords; ++at) {
    alone = false;
    const Values values = of(all[at]);
    const auto constant =
        std::ranges::find_if(values, [](const Value& value) { return !value.is_name(); });
    if (constant == values.end() && role_of(all[at]).is(Shape::kList)) {
      for (const Node item : all[at].named_children()) {
        const std::vector<std::string> known = texts(item);
        words.push_back(known.empty() ? std::string(kUnknownWord) : known.front());
      }
    } else if (constant != values.end() && constant->kind == Value::Kind::kList) {
      std::ranges::copy(constant->items, std::back_inserter(words));
    } else {
      words.push_back(constant != values.end() && constant->is_text() ? constant->text
                                                                      : std::string(kUnknownWord));
    }
  }
  words.resize(std::min(words.size(), kMostWords - 1));
  if (rule.does == Does::kExec && !words.empty()) {
    words.erase(words.begin());
  }
  return words;
}

void Program::run_shell(const std::vector<std::string>& scripts, Node node) {
  for (const std::string& script : scripts) {
    analyse_shell(script, lines_.inside(node.begin()), facts_);
  }
  if (scripts.empty()) {
    add(Kind::kPattern, "dynamic-command", node);
  }
}

void Program::report_script(const Rule& rule, const Role& call) {
  const Node first = argument(call, rule.argument);
  bool alone = true;
  const std::vector<std::string> words =
      rule.does == Does::kShell ? std::vector<std::string>{} : words_behind(rule, call, alone);
  bool known = false;
  for (const Value& value : of(first)) {
    if (value.is_text() && (rule.does == Does::kShell || (rule.does == Does::kRun && alone))) {
      known = true;
      run_shell({value.text}, call.node);
    } else if (value.is_text() || (value.kind == Value::Kind::kList && !value.items.empty())) {
      known = true;
      std::vector<std::string> argv = value.is_text() ? std::vector{value.text} : value.items;
      std::ranges::copy(words, std::back_inserter(argv));
      argv.resize(std::min(argv.size(), kMostWords));
      analyse_command(argv, lines_.inside(call.node.begin()), facts_);
    }
  }
  if (!known) {
    add(Kind::kPattern, "dynamic-command", call.node);
  }
}

void Program::report_loop(const Loop& loop) {
  const Node node = loop.node;
  if (loop.condition) {
    const Values values = of(loop.condition);
    // A variable that gets several values may be changed by the loop.
    const Node variable = unwrapped(loop.condition);
    const bool changes =
        role_of(variable).is(Shape::kId) && values_bound_to(path_of(variable)).size() > 1;
    if (changes || std::ranges::none_of(values, [](const Value& value) {
          return value.kind == Value::Kind::kTrue ||
                 (value.kind == Value::Kind::kNumber && value.number != 0);
        })) {
      return;
    }
  }
  if (any_within(spawning_, node)) {
    add(Kind::kPattern, "fork-bomb", node);
  }
  if (!any_within(leaving_, node)) {
    add(Kind::kPattern, "endless-loop", node);
  }
}

// Names in a text that the grammar leaves as it is.
void Program::report_words(Node node) {
  const std::string_view text = node.text();
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    if (end > at && std::isdigit(static_cast<unsigned char>(text[at])) == 0) {
      used(std::string(text.substr(at, end - at)), node);
    }
    at = std::max(end, at + 1);
  }
}

void Program::run_code(Node code, Node call) {
  const std::vector<std::string> all = texts(code);
  for (const std::string& text : all) {
    analyse(dialect_, std::string(dialect_.code_begins) + text, lines_.inside(call.begin()),
            facts_);
  }
  if (all.empty()) {
    add(Kind::kPattern, "dynamic-code", call);
  }
}

void Program::load(Node module, Node call) {
  const std::vector<std::string> all = texts(module);
  for (const std::string& text : all) {
    add(Kind::kModule, module_name(text), call);
  }
  if (all.empty()) {
    add(Kind::kPattern, "dynamic-import", call);
  }
}

}  // namespace glovebox::analyser::syntax
