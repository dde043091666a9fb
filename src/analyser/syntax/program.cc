// SPDX-License-Identifier: Apache-2.0
#include "analyser/syntax/program.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "analyser/syntax/texts.h"
#include "base/glob.h"
#include "base/text.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr std::size_t kMostOpened = 16;

Node part_of(Node node, std::string_view part) {
  if (part.empty() || part.front() > '9') {
    return part.empty() ? Node() : node.field(part);
  }
  const std::vector<Node> children = node.named_children();
  const auto at = static_cast<std::size_t>(part.front() - '0');
  return at < children.size() ? children[at] : Node();
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The size of an escaped letter in a name, which begins with '\\'.
std::size_t escape_size(std::string_view text) {
  const std::size_t brace = text.find('}');
  const std::size_t size = text.substr(2, 1) == "{" && brace != std::string_view::npos ? brace + 1
                           : text[1] == 'U'                                            ? 10
                                                                                       : 6;
  return std::min(size, text.size());
}

}  // namespace

Program::Program(const Source& source, Facts& facts)
    : dialect_(source.dialect),
      tree_(source.tree),
      lines_(source.lines),
      inside_(source.inside),
      facts_(facts) {
  const TSLanguage* const grammar = dialect_.grammar();
  forms_.resize(ts_language_symbol_count(grammar));
  std::unordered_map<std::string_view, const Form*> by_type;
  for (const Form& form : dialect_.forms) {
    by_type.emplace(form.type, &form);
  }
  for (std::size_t symbol = 0; symbol < forms_.size(); ++symbol) {
    const auto id = static_cast<TSSymbol>(symbol);
    if (ts_language_symbol_type(grammar, id) == TSSymbolTypeRegular) {
      const auto found = by_type.find(ts_language_symbol_name(grammar, id));
      forms_[symbol] = found == by_type.end() ? nullptr : found->second;
    }
  }
}

Program::Role Program::role_of(Node node) const {
  const TSSymbol symbol = node.symbol();
  const Form* const form = node && symbol < forms_.size() ? forms_[symbol] : nullptr;
  if (form == nullptr) {
    return {};
  }
  return {.form = form,
          .node = node,
          .one = part_of(node, form->one),
          .other = part_of(node, form->other),
          .list = part_of(node, form->list)};
}

// Names

std::optional<std::string> Program::root(std::string_view name) const { return std::string(name); }

std::string Program::module_name(std::string_view text) const { return std::string(text); }

std::string Program::join(const std::string& name, const std::string& key) const {
  if (!dialect_.implied.empty() && dialect_.implied == name + ".") {
    return key;
  }
  return name + "." + key;
}

std::string Program::path_of(Node node) const {
  std::string path;
  const std::string_view text = node.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && (text.substr(at + 1, 1) == "u" || text.substr(at + 1, 1) == "U") &&
        !dialect_.ignores_case) {
      const std::size_t size = escape_size(text.substr(at));
      path += unescaped(text.substr(at, size));
      at += size - 1;
    } else if (is_word(c)) {
      path += c;
    } else if (c == '<' || c == '[' || c == '(') {
      break;  // Of a type: its arguments.
    } else if ((c == '.' || c == ':' || c == '\\') && !path.empty() && path.back() != '.') {
      path += '.';
    }
  }
  return dialect_.ignores_case ? lower_case(path) : path;
}

void Program::bind_value(std::string_view name, Node value, std::vector<std::string> keys) {
  std::vector<Meaning>& meanings = bound_[std::string(name)];
  if (meanings.size() < kMostValues) {
    meanings.push_back({.value = value, .keys = std::move(keys)});
  }
}

void Program::bind_name(std::string_view name, std::string meaning) {
  if (!dialect_.implied.empty() && meaning.starts_with(dialect_.implied)) {
    meaning.erase(0, dialect_.implied.size());
  }
  std::vector<Meaning>& meanings = bound_[std::string(name)];
  if (meanings.size() < kMostValues) {
    meanings.push_back({.name = std::move(meaning)});
  }
}

void Program::bind_type(std::string_view name, Node type) {
  std::vector<Meaning>& meanings = bound_[std::string(name)];
  if (meanings.size() < kMostValues) {
    meanings.push_back({.value = type, .is_type = true});
  }
}

void Program::grow(std::string_view name, Node value) {
  std::vector<Meaning>& meanings = bound_[std::string(name)];
  if (meanings.size() < kMostItems) {
    meanings.push_back({.value = value, .grows = true});
  }
}

void Program::open_module(std::string name) {
  if (opened_.size() < kMostOpened) {
    opened_.push_back(std::move(name));
  }
}

void Program::be_quiet_within(Node node) {
  if (!node) {
    return;
  }
  Walk walk(node);
  while (const Node each = walk.next()) {
    be_quiet(each);
  }
}

std::vector<Node> Program::values_bound_to(std::string_view name) const {
  std::vector<Node> all;
  if (const auto bound = bound_.find(name); bound != bound_.end()) {
    for (const Meaning& meaning : bound->second) {
      all.push_back(meaning.value);
    }
  }
  return all;
}

void Program::assign(Node target, Node value, Node type, bool grows) {
  const Role role = role_of(target);
  if (role.form != nullptr && (role.is(Shape::kList) || role.is(Shape::kSame))) {
    // Several targets at once; if one value is taken apart, each target may be any part of it.
    const std::vector<Node> targets = target.named_children();
    const std::vector<Node> values = value.named_children();
    for (std::size_t at = 0; at < targets.size(); ++at) {
      assign(targets[at], values.size() == targets.size() ? values[at] : value, type, grows);
    }
    return;
  }
  if (role.form != nullptr && !role.is(Shape::kId)) {
    return;  // A part of something.
  }
  be_quiet(target);
  const std::string own = path_of(target);
  hide(own);
  if (grows) {
    grow(own, value);
  } else if (value) {
    bind_value(own, value);
  }
  if (type) {
    bind_type(own, type);
  }
}

void Program::bind(const Role& role) {
  const std::string_view by = role.node.field("operator").text();
  const auto is_one_of = [by](std::string_view operators) {
    return operators.find(" " + std::string(by.substr(0, by.size() - 1)) + " ") !=
           std::string_view::npos;
  };
  const bool changes = by.size() > 1 && by.ends_with('=') && by != ":=";
  const bool grows = changes && !is_one_of(dialect_.choosing);
  // Most operators give the target an unknown value.
  const bool known = !grows || is_one_of(dialect_.joining);
  assign(role.one, known ? role.other : Node(), role.list, grows);
}

}  // namespace glovebox::analyser::syntax
