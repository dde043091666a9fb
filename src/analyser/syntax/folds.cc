// SPDX-License-Identifier: Apache-2.0
// What functions and methods make of constants.
#include <algorithm>
#include <array>
#include <utility>

#include "analyser/python_decoders.h"
#include "analyser/syntax/program.h"
#include "analyser/syntax/texts.h"
#include "base/text.h"
#include "base/utf8.h"

namespace glovebox::analyser::syntax {

std::optional<Values> Program::folded(const std::string& name, const Role& call) {
  const auto rule = std::ranges::find(dialect_.folds, name, &FoldRule::name);
  const auto given = rule == dialect_.folds.end() ? std::nullopt : constants(call);
  if (!given || given->empty()) {
    return std::nullopt;
  }
  const std::string& text = given->front().text;
  const auto one = [](std::optional<std::string> made) {
    return made ? Values{Value::text_of(*std::move(made))} : Values{};
  };
  std::string all;
  switch (rule->fold) {
    case Fold::kConcat:
      for (const Value& each : *given) {
        all += each.text;
      }
      return one(std::move(all));
    case Fold::kList: {
      Value list{.kind = Value::Kind::kList};
      for (const Value& each : *given) {
        list.items.push_back(each.text);
      }
      return Values{std::move(list)};
    }
    case Fold::kJoin: {
      const std::vector<std::string>& items = given->back().items;
      for (std::size_t at = 0; at < items.size(); ++at) {
        all += (at == 0 || given->size() == 1 ? "" : text) + items[at];
      }
      return one(std::move(all));
    }
    case Fold::kSame:
      return Values{given->front()};
    case Fold::kReverse:
      return one(reversed(text));
    case Fold::kBase64:
      return one(from_base64(text, text.find_first_of("-_") != std::string::npos));
    case Fold::kHex:
      return one(from_hex(text));
    case Fold::kPercents:
      return one(from_percents(text));
    case Fold::kRot13:
      return one(from_rot13(text));
    case Fold::kLower:
      return one(lower_case(text));
    case Fold::kUpper:
      return one(upper_case(text));
    case Fold::kCharacters:
      for (const Value& code : *given) {
        append_utf8(all, static_cast<char32_t>(std::clamp(code.number, 0.0, 1114111.0)));
      }
      return one(std::move(all));
  }
  return std::nullopt;
}

std::optional<Value> Program::method(const Value& value, const std::string& key, const Role& call) {
  // By whatever name one language or another has them.
  constexpr std::array<std::string_view, 7> kSame = {"to_s",     "to_sym", "toString", "freeze",
                                                     "ToString", "c_str",  "intern"};
  constexpr std::array<std::string_view, 4> kTrim = {"trim", "strip", "Trim", "chomp"};
  constexpr std::array<std::string_view, 3> kLower = {"toLowerCase", "downcase", "ToLower"};
  const auto is = [&key](const auto& list) { return std::ranges::find(list, key) != list.end(); };
  if (value.kind == Value::Kind::kList && key == "reverse") {
    return Value{.kind = Value::Kind::kList, .items = {value.items.rbegin(), value.items.rend()}};
  }
  if (value.kind == Value::Kind::kList && key == "join") {
    const auto given = constants(call);
    std::string all;
    for (const std::string& item : value.items) {
      all += (all.empty() || !given || given->empty() ? "" : given->front().text) + item;
    }
    return given ? std::optional(Value::text_of(std::move(all))) : std::nullopt;
  }
  if (!value.is_text()) {
    return std::nullopt;
  }
  if (is(kSame)) {
    return value;
  }
  if (key == "reverse") {
    return Value::text_of(reversed(value.text));
  }
  if (is(kTrim)) {
    return Value::text_of(trimmed(value.text));
  }
  if (is(kLower)) {
    return Value::text_of(lower_case(value.text));
  }
  if (key == "concat" || key == "append") {
    const auto given = constants(call);
    std::string all = value.text;
    for (std::size_t at = 0; given && at < given->size(); ++at) {
      all += (*given)[at].text;
    }
    return given ? std::optional(Value::text_of(std::move(all))) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace glovebox::analyser::syntax
