// SPDX-License-Identifier: Apache-2.0
// What an expression may stand for.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "analyser/syntax/program.h"
#include "analyser/syntax/texts.h"
#include "base/glob.h"
#include "base/text.h"

namespace glovebox::analyser::syntax {
namespace {

constexpr std::size_t kMostText = std::size_t{256} * 1024;
constexpr std::size_t kMostName = 500;  // Of a qualified name.
constexpr int kMostNesting = 600;

bool is_constant(const Value& value) { return !value.is_name(); }

bool is_mark(std::string_view type) {
  return type.ends_with("_start") || type.ends_with("_end") || type.ends_with("delimiter") ||
         type.ends_with("beginning") || type.ends_with("encoding");
}

bool is_plain(std::string_view type) {
  return type.ends_with("_fragment") || type.ends_with("_content") || type == "string_value";
}

}  // namespace

Value Value::number_of(double number) {
  Value value{.kind = Kind::kNumber, .number = number};
  value.text = number == std::floor(number) && std::abs(number) < 1e15
                   ? std::to_string(static_cast<std::int64_t>(number))
                   : std::to_string(number);
  return value;
}

Values Program::of(Node node) {
  if (!node || budget_ < 0) {
    return {};
  }
  const auto known = known_.find(node.id());
  if (known != known_.end()) {
    return known->second;
  }
  if (--budget_ < 0 || nesting_ > kMostNesting) {
    budget_ = -1;
    return {};
  }
  const std::size_t cycles = cycles_;
  ++nesting_;
  Values found = evaluate(node);
  --nesting_;
  if (found.size() > kMostValues) {
    found.resize(kMostValues);
  }
  if (cycles == cycles_) {  // Else it depends on where we came from.
    known_.emplace(node.id(), found);
  }
  return found;
}

Values Program::evaluate(Node node) {
  const Role role = role_of(node);
  if (role.form == nullptr) {
    return {};
  }
  switch (role.form->shape) {
    case Shape::kId:
      return value_of_name(path_of(node));
    case Shape::kMember:
    case Shape::kSubscript:
      return value_of_member(role);
    case Shape::kCall:
      return value_of_call(role);
    case Shape::kText:
      return value_of_text(node);
    case Shape::kNumber:
      return {Value::number_of(number_in(node.text()))};
    case Shape::kTrue:
      return lower_case(node.text()) == "false"
                 ? Values{}
                 : Values{{.kind = Value::Kind::kTrue, .text = "true"}};
    case Shape::kBind:
      return of(role.other);
    case Shape::kPair:
      return of(role.other ? role.other : role.one);
    case Shape::kOwn:
      return own_value(node);
    case Shape::kSame: {
      Values all;
      const std::vector<Node> parts =
          role.form->one.empty() ? node.named_children() : std::vector{role.one, role.other};
      for (const Node part : parts) {
        std::ranges::move(of(part), std::back_inserter(all));
      }
      return all;
    }
    case Shape::kBinary:
      return value_of_binary(role);
    case Shape::kConcat:
      return value_of_concat(node.named_children());
    case Shape::kList:
      return value_of_list(node);
    default:
      return {};
  }
}

// What a name that nothing explains stands for: itself, or the same in a module that was opened.
std::vector<std::string> Program::roots(std::string_view name) const {
  std::vector<std::string> all;
  if (auto own = root(name)) {
    all.push_back(*std::move(own));
  }
  if (!name.empty() && (std::isupper(static_cast<unsigned char>(name.front())) != 0)) {
    for (const std::string& module : opened_) {
      all.push_back(join(module, std::string(name)));
    }
  }
  return all;
}

Values Program::value_of_name(std::string_view name) {
  if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos && dot > 0) {
    if (name.size() > kMostName) {
      return {};
    }
    Values owners = value_of_name(name.substr(0, dot));
    std::erase_if(owners, is_constant);
    for (Value& owner : owners) {
      owner.text = join(owner.text, std::string(name.substr(dot + 1)));
    }
    return owners;
  }
  Values all;
  const auto bound = bound_.find(name);
  if (bound == bound_.end() || std::ranges::any_of(dialect_.kept, [name](std::string_view kept) {
        return matches_glob(kept, name);
      })) {
    for (std::string& each : roots(name)) {
      all.push_back(Value::name_of(std::move(each)));
    }
  }
  if (bound == bound_.end()) {
    return all;
  }
  if (!busy_.emplace(name).second) {
    ++cycles_;
    return all;
  }
  if (std::ranges::any_of(bound->second, &Meaning::grows)) {
    std::ranges::move(value_of_grown(bound->second), std::back_inserter(all));
    busy_.erase(std::string(name));
    return all;
  }
  bool explained = false;
  for (const Meaning& meaning : bound->second) {
    if (meaning.is_type && explained) {
      continue;  // The class says what a value can do if nothing better is known of it.
    }
    Values found = value_of_meaning(meaning);
    explained = explained || !found.empty();
    std::ranges::move(found, std::back_inserter(all));
  }
  busy_.erase(std::string(name));
  return all;
}

Values Program::value_of_meaning(const Meaning& meaning) {
  if (!meaning.name.empty()) {
    return {Value::name_of(meaning.name)};
  }
  Values found = of(meaning.value);
  if (meaning.is_type) {
    std::erase_if(found, is_constant);
    for (Value& value : found) {
      value.text += "()";
    }
  }
  for (const std::string& key : meaning.keys) {
    std::erase_if(found, is_constant);
    if (auto name = found.empty() ? member_of_unknown(key) : std::nullopt) {
      found.push_back(Value::name_of(*std::move(name)));
      continue;
    }
    for (Value& value : found) {
      value.text = join(value.text, key);
    }
  }
  return found;
}

// All that was appended, in the order of the text; nothing if a part is unknown.
Values Program::value_of_grown(const std::vector<Meaning>& meanings) {
  std::string all;
  for (const Meaning& meaning : meanings) {
    if (meaning.is_type) {
      continue;
    }
    const Values found = of(meaning.value);
    const auto constant = std::ranges::find_if(found, &Value::is_scalar);
    if (constant == found.end() || all.size() + constant->text.size() > kMostText) {
      return {};
    }
    all = meaning.grows ? all + constant->text : constant->text;
  }
  return {Value::text_of(std::move(all))};
}

// What a part of a text with gaps stands for.
std::optional<std::string> Program::part_of_text(Node part) {
  if (part.is("escape_sequence")) {
    return unescaped(part.text());
  }
  if (is_plain(part.type())) {
    const std::string_view code = part.code();
    std::string text;
    std::uint32_t inner = part.begin();
    for (const Node escape : part.named_children()) {
      text += code.substr(inner, escape.begin() - inner);
      text += unescaped(escape.text());
      inner = escape.end();
    }
    return text.append(code.substr(inner, part.end() - inner));
  }
  const std::vector<Node> inside = part.named_children();
  const auto expression =
      std::ranges::find_if(inside, [this](Node each) { return role_of(each).form != nullptr; });
  const Values values =
      of(role_of(part).form != nullptr || expression == inside.end() ? part : *expression);
  const auto constant = std::ranges::find_if(values, &Value::is_scalar);
  return constant == values.end() ? std::nullopt : std::optional(constant->text);
}

Values Program::value_of_text(Node node) {
  const std::vector<Node> parts = node.children();
  if (parts.empty()) {
    return {Value::text_of(std::string(without_quotes(node.text())))};
  }
  const std::string_view code = node.code();
  std::string text;
  std::uint32_t at = parts.front().end();
  bool first = true;
  for (const Node part : parts) {
    if (!std::exchange(first, false) || part.named()) {
      at = std::min(at, part.begin());
      text += code.substr(at, part.begin() - at);
    }
    at = part.end();
    if (!part.named() || is_mark(part.type())) {
      continue;
    }
    const std::optional<std::string> more = part_of_text(part);
    if (!more || text.size() + more->size() > kMostText) {
      return {};
    }
    text += *more;
  }
  return {Value::text_of(std::move(text))};
}

Values Program::value_of_concat(const std::vector<Node>& parts) {
  Values all = {Value::text_of("")};
  bool numbers = true;
  for (const Node part : parts) {
    Values next;
    for (const Value& more : of(part)) {
      for (const Value& so_far : all) {
        if (!more.is_scalar() || so_far.text.size() + more.text.size() > kMostText ||
            next.size() >= kMostValues) {
          continue;
        }
        numbers = numbers && more.kind == Value::Kind::kNumber;
        Value sum = Value::text_of(so_far.text + more.text);
        sum.number = so_far.number + more.number;
        next.push_back(std::move(sum));
      }
    }
    all = std::move(next);
  }
  if (numbers) {
    for (Value& each : all) {
      each = Value::number_of(each.number);
    }
  }
  return all;
}

Values Program::value_of_binary(const Role& role) {
  const std::string by = " " + std::string(role.node.field("operator").text()) + " ";
  if (dialect_.joining.find(by) != std::string_view::npos) {
    return value_of_concat({role.one, role.other});
  }
  Values all;
  if (dialect_.choosing.find(by) != std::string_view::npos) {
    all = of(role.one);
    std::ranges::move(of(role.other), std::back_inserter(all));
  }
  return all;
}

Values Program::value_of_list(Node node) {
  Value list{.kind = Value::Kind::kList};
  for (const Node item : node.named_children()) {
    const Values values = of(item);
    const auto constant = std::ranges::find_if(values, &Value::is_scalar);
    if (constant == values.end() || list.items.size() == kMostItems) {
      return {};
    }
    list.items.push_back(constant->text);
  }
  return {std::move(list)};
}

std::vector<std::string> Program::keys(const Role& role) {
  if (!role.is(Shape::kSubscript)) {
    return role.other ? std::vector{path_of(role.other)} : std::vector<std::string>{};
  }
  std::vector<std::string> all;
  for (Value& value : of(role.other)) {
    if (value.is_scalar()) {
      all.push_back(std::move(value.text));
    }
  }
  return all;
}

Values Program::value_of_member(const Role& role) {
  if (!role.one && role.is(Shape::kMember)) {
    return value_of_name(path_of(role.other));  // Of all names together: "::system".
  }
  Values all;
  const Values owners = of(role.one);
  for (const std::string& key : keys(role)) {
    bool named = false;
    for (const Value& owner : owners) {
      if (owner.is_name()) {
        named = true;
        if (owner.text.size() + key.size() < kMostName) {
          all.push_back(Value::name_of(join(owner.text, key)));
        }
      } else if (owner.kind == Value::Kind::kList && !key.empty() && key.size() < 5 &&
                 std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; }) &&
                 std::stoul(key) < owner.items.size()) {
        all.push_back(Value::text_of(owner.items[std::stoul(key)]));
      }
    }
    if (auto name = named ? std::nullopt : member_of_unknown(key)) {
      all.push_back(Value::name_of(*std::move(name)));
    }
  }
  // One of a list of functions.
  if (role_of(role.one).is(Shape::kList)) {
    const std::vector<Node> items = role.one.named_children();
    for (std::size_t at = 0; at < std::min(items.size(), kMostValues); ++at) {
      for (std::string& name : names(items[at])) {
        all.push_back(Value::name_of(std::move(name)));
      }
    }
  }
  return all;
}

std::vector<std::string> Program::callee_names(const Role& call) {
  std::vector<std::string> all;
  if (call.one && call.other) {
    const std::string key = path_of(call.other);
    for (const std::string& owner : names(call.one)) {
      if (owner.size() + key.size() < kMostName) {
        all.push_back(join(owner, key));
      }
    }
    return all;
  }
  const Node callee = call.one ? call.one : call.other;
  const bool plain = call.other || role_of(callee).is(Shape::kId);
  for (Value& value : plain ? value_of_name(path_of(callee)) : of(callee)) {
    if (value.is_name() || (dialect_.texts_are_functions && value.is_text())) {
      all.push_back(dialect_.ignores_case ? lower_case(value.text) : std::move(value.text));
    }
  }
  if (plain) {
    // A variable of that name elsewhere does not hide a function.
    for (std::string& name : roots(path_of(callee))) {
      if (std::ranges::find(all, name) == all.end()) {
        all.push_back(std::move(name));
      }
    }
  }
  return all;
}

Values Program::value_of_call(const Role& call) {
  Values all;
  for (const std::string& name : callee_names(call)) {
    auto values = returned(name, call);
    if (!values) {
      values = folded(name, call);
    }
    if (values) {
      std::ranges::move(*std::move(values), std::back_inserter(all));
    } else if (name.size() < kMostName) {
      all.push_back(Value::name_of(name + "()"));
    }
  }
  const Role callee = role_of(call.one);
  const bool by_member = callee.is(Shape::kMember) || callee.is(Shape::kSubscript);
  const Node owner = call.other ? call.one : by_member ? callee.one : Node();
  if (owner) {
    for (const Value& value : of(owner)) {
      if (value.is_name()) {
        continue;
      }
      for (const std::string& key : keys(call.other ? call : callee)) {
        auto result = method(value, key, call);
        if (result && result->text.size() < kMostText) {
          all.push_back(*std::move(result));
        }
      }
    }
  }
  return all;
}

std::optional<Values> Program::returned(const std::string&, const Role&) { return std::nullopt; }

std::vector<std::string> Program::names(Node node) {
  std::vector<std::string> all;
  for (Value& value : of(node)) {
    if (value.is_name()) {
      all.push_back(std::move(value.text));
    }
  }
  return all;
}

std::vector<std::string> Program::texts(Node node) {
  std::vector<std::string> all;
  for (Value& value : of(node)) {
    if (value.is_text()) {
      all.push_back(std::move(value.text));
    }
  }
  return all;
}

std::vector<std::string> Program::text_of(Node node) {
  std::vector<std::string> all;
  for (Value& value : value_of_text(node)) {
    all.push_back(std::move(value.text));
  }
  return all;
}

std::vector<std::string> Program::items_of(Node node) {
  for (Value& value : of(node)) {
    if (value.kind == Value::Kind::kList) {
      return std::move(value.items);
    }
  }
  return {};
}

std::vector<Node> Program::arguments(const Role& call) { return call.list.named_children(); }

Node Program::argument(const Role& call, int number) {
  const std::vector<Node> all = arguments(call);
  if (number < 0) {
    return all.empty() ? Node() : all.back();
  }
  const auto index = static_cast<std::size_t>(number - 1);
  return index < all.size() ? all[index] : Node();
}

std::optional<std::vector<Value>> Program::constants(const Role& call) {
  std::vector<Value> all;
  for (const Node each : arguments(call)) {
    const Values values = of(each);
    const auto constant = std::ranges::find_if(values, is_constant);
    if (constant == values.end() || all.size() == kMostItems) {
      return std::nullopt;
    }
    all.push_back(*constant);
  }
  return all;
}

}  // namespace glovebox::analyser::syntax
