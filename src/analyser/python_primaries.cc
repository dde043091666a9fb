// SPDX-License-Identifier: Apache-2.0
// What the operators of Python join: calls, subscripts, displays, literals.
#include <algorithm>
#include <string>
#include <utility>

#include "analyser/python_grammar.h"

namespace glovebox::analyser {

PythonNode* PythonParser::primary() {
  const std::uint32_t at = token().begin;
  PythonNode* whole = atom();
  for (;;) {
    if (take(Tok::kDot)) {
      const std::string_view name = identifier();
      const std::initializer_list<PythonNode*> parts = {whole};
      whole = make({.kind = Ast::kAttribute, .at = at, .name = name}, parts);
    } else if (take(Tok::kLeftParen)) {
      Parts parts(*this);
      parts.push(whole);
      arguments(parts);
      const auto keyword = std::ranges::find_if(parts.list(), [](const PythonNode* n) {
        return n != nullptr && n->kind == Ast::kKeyword;
      });
      whole = parts.node(Ast::kCall, at,
                         {.split = static_cast<std::uint32_t>(keyword - parts.list().begin())});
    } else if (take(Tok::kLeftBracket)) {
      PythonNode* const index = subscript();
      expect(Tok::kRightBracket);
      whole = node(Ast::kSubscript, at, {whole, index});
    } else {
      return whole;
    }
  }
}

PythonNode* PythonParser::subscript() {
  const std::uint32_t at = token().begin;
  PythonNode* const first = slice();
  if (kind() != Tok::kComma && (first == nullptr || first->kind != Ast::kStarred)) {
    return first;
  }
  Parts parts(*this);
  parts.push(first);
  while (!failed() && take(Tok::kComma) && kind() != Tok::kRightBracket) {
    parts.push(slice());
  }
  return parts.node(Ast::kTuple, at);
}

PythonNode* PythonParser::slice() {
  const std::uint32_t at = token().begin;
  const auto ends = [this] {
    return kind() == Tok::kColon || kind() == Tok::kComma || kind() == Tok::kRightBracket;
  };
  PythonNode* const lower = kind() == Tok::kColon ? nullptr : starred();
  if (!take(Tok::kColon)) {
    return lower;
  }
  PythonNode* const upper = ends() ? nullptr : expression();
  PythonNode* const step = take(Tok::kColon) && !ends() ? expression() : nullptr;
  return node(Ast::kSlice, at, {lower, upper, step});
}

// Up to and including the parenthesis. Arguments with names and "**" come last, as in the tree.
void PythonParser::arguments(Parts& into) {
  Parts named(*this);
  const std::uint32_t open = tokens_.list[next_ - 1].begin;
  while (!failed() && kind() != Tok::kRightParen) {
    PythonNode* const each = argument(open);
    (each != nullptr && each->kind == Ast::kKeyword ? named : into).push(each);
    if (!take(Tok::kComma)) {
      break;
    }
  }
  expect(Tok::kRightParen);
  for (PythonNode* const each : named.list()) {
    into.push(each);
  }
}

// A generator begins with the parenthesis of the call, which stands at `open`.
PythonNode* PythonParser::argument(std::uint32_t open) {
  const std::uint32_t at = token().begin;
  if (take(Tok::kStar)) {
    return node(Ast::kStarred, at, {expression()});
  }
  if (take(Tok::kPower)) {
    return node(Ast::kKeyword, at, {expression()});
  }
  if (kind() == Tok::kName && next_kind() == Tok::kAssign) {
    const std::string_view name = identifier();
    ++next_;
    PythonNode* const value = expression();
    const std::initializer_list<PythonNode*> parts = {value};
    return make({.kind = Ast::kKeyword, .at = at, .name = name}, parts);
  }
  PythonNode* const value = named_expression();
  if (!at_comprehension()) {
    return value;
  }
  Parts parts(*this);
  parts.push(value);
  comprehension(parts);
  return parts.node(Ast::kGenerator, open);
}

// NOLINTNEXTLINE(misc-no-recursion): the lexer bounds brackets.
PythonNode* PythonParser::atom() {
  const std::uint32_t at = token().begin;
  const auto constant = [&](Value value) {
    ++next_;
    return make({.kind = Ast::kConstant, .at = at, .value = arena_.make(value)});
  };
  switch (kind()) {
    case Tok::kName:
      return make({.kind = Ast::kName, .at = at, .name = identifier()});
    case Tok::kNumber:
      return number();
    case Tok::kString:
    case Tok::kFormatStart:
      return strings();
    case Tok::kTrue:
      return constant({.kind = Value::Kind::kBool, .number = 1});
    case Tok::kFalse:
      return constant({.kind = Value::Kind::kBool});
    case Tok::kNone:
      return constant({.kind = Value::Kind::kNone});
    case Tok::kEllipsis:
      return constant({.kind = Value::Kind::kEllipsis});
    case Tok::kLeftParen:
      return parenthesized();
    case Tok::kLeftBracket:
      return list();
    case Tok::kLeftBrace:
      return dictionary_or_set();
    default:
      fail("invalid syntax", at);
      return make({.kind = Ast::kPass, .at = at});
  }
}

PythonNode* PythonParser::parenthesized() {
  const std::uint32_t at = token().begin;
  ++next_;
  if (take(Tok::kRightParen)) {
    return make({.kind = Ast::kTuple, .at = at});
  }
  PythonNode* whole = kind() == Tok::kYield ? yield_or_expressions() : starred();
  Parts parts(*this);
  parts.push(whole);
  if (at_comprehension()) {
    comprehension(parts);
    whole = parts.node(Ast::kGenerator, at);
  } else if (take(Tok::kComma)) {
    expression_list(parts, Tok::kRightParen);
    whole = parts.node(Ast::kTuple, at);
  }
  expect(Tok::kRightParen);
  return whole;
}

PythonNode* PythonParser::list() {
  const std::uint32_t at = token().begin;
  ++next_;
  Parts parts(*this);
  Ast kind_made = Ast::kList;
  if (kind() != Tok::kRightBracket) {
    parts.push(starred());
    if (at_comprehension()) {
      comprehension(parts);
      kind_made = Ast::kListComp;
    } else if (take(Tok::kComma)) {
      expression_list(parts, Tok::kRightBracket);
    }
  }
  expect(Tok::kRightBracket);
  return parts.node(kind_made, at);
}

PythonNode* PythonParser::dictionary_or_set() {
  const std::uint32_t at = token().begin;
  ++next_;
  Parts parts(*this);
  Parts values(*this);
  Ast made = Ast::kDict;
  while (!failed() && kind() != Tok::kRightBrace) {
    if (take(Tok::kPower)) {
      parts.push(nullptr);
      values.push(arithmetic());
    } else {
      parts.push(starred());
      if (made == Ast::kDict && take(Tok::kColon)) {
        values.push(expression());
      } else {
        made = Ast::kSet;
      }
    }
    if (at_comprehension()) {
      for (PythonNode* const value : values.list()) {
        parts.push(value);
      }
      comprehension(parts);
      expect(Tok::kRightBrace);
      return parts.node(made == Ast::kSet ? Ast::kSetComp : Ast::kDictComp, at);
    }
    if (!take(Tok::kComma)) {
      break;
    }
  }
  expect(Tok::kRightBrace);
  if (made == Ast::kSet && values.size() > 0) {
    fail("invalid syntax", at);
  }
  const auto keys = static_cast<std::uint32_t>(parts.size());
  for (PythonNode* const value : values.list()) {
    parts.push(value);
  }
  return parts.node(made, at, {.split = keys});
}

void PythonParser::comprehension(Parts& into) {
  while (!failed() && at_comprehension()) {
    const std::uint32_t at = token().begin;
    take(Tok::kAsync);
    ++next_;
    Parts parts(*this);
    parts.push(targets());
    expect(Tok::kIn);
    parts.push(disjunction());
    while (!failed() && take(Tok::kIf)) {
      const std::uint32_t test_at = token().begin;
      PythonNode* const test = kind() == Tok::kLambda ? lambda() : disjunction();
      parts.push(take(Tok::kWalrus) ? node(Ast::kNamedExpr, test_at, {test, disjunction()}) : test);
    }
    into.push(parts.node(Ast::kComprehension, at));
  }
}

// Literals

PythonNode* PythonParser::number() {
  const Token written = token();
  ++next_;
  const auto value = number_of(text_of(written));
  if (!value) {
    fail("invalid decimal literal", written.begin);
    return nullptr;
  }
  return make({.kind = Ast::kConstant, .at = written.begin, .value = arena_.make(*value)});
}

// One string or several, which are one constant, or a formatted one with fields.
PythonNode* PythonParser::strings() {
  const std::uint32_t at = token().begin;
  Parts parts(*this);
  std::string text;
  std::string_view only;
  int pieces = 0;
  bool known = true;
  bool bytes = false;
  bool text_seen = false;
  bool formatted = false;
  const auto add = [&](std::string_view written, bool raw, bool is_bytes) {
    const Literal literal = unescaped(written, is_bytes, raw, arena_);
    if (literal.end == Literal::End::kWrong) {
      fail("the escapes of a string are wrong", token().begin);
    }
    known = known && literal.end != Literal::End::kUnknown;
    if (pieces++ == 0) {
      only = literal.text;
    } else {
      text += pieces == 2 ? std::string(only) : "";
      text += literal.text;
    }
  };
  const auto flush = [&](Value::Kind value_kind) {
    if (pieces > 0) {
      const Value value{.kind = known ? value_kind : Value::Kind::kUnknown,
                        .text = pieces == 1 ? only : arena_.keep(std::string_view(text))};
      parts.push(make({.kind = Ast::kConstant, .at = at, .value = arena_.make(value)}));
    }
    pieces = 0;
    text.clear();
    known = true;
  };
  while (!failed() && (kind() == Tok::kString || kind() == Tok::kFormatStart)) {
    std::string_view written = text_of(token());
    const std::size_t prefix = written.find_first_of("'\"");
    const std::string_view letters = written.substr(0, prefix);
    const bool raw = letters.find_first_of("rR") != std::string_view::npos;
    const bool is_bytes = letters.find_first_of("bB") != std::string_view::npos;
    bytes = bytes || is_bytes;
    text_seen = text_seen || !is_bytes;
    if (take(Tok::kFormatStart)) {
      formatted = true;
      while (!failed() && kind() != Tok::kFormatEnd) {
        if (kind() == Tok::kFormatMiddle) {
          std::string plain;
          const std::string_view middle = text_of(token());
          for (std::size_t i = 0; i < middle.size(); ++i) {
            // The braces around a character's name belong to the escape.
            if (!raw && middle.substr(i).starts_with("\\N{")) {
              const std::size_t end = std::min(middle.find('}', i), middle.size() - 1);
              plain += middle.substr(i, end - i + 1);
              i = end;
              continue;
            }
            plain += middle[i];
            if (!raw && middle[i] == '\\' && i + 1 < middle.size() && middle[i + 1] != '{' &&
                middle[i + 1] != '}') {
              plain += middle[++i];
            } else if ((middle[i] == '{' || middle[i] == '}') && i + 1 < middle.size()) {
              ++i;
            }
          }
          add(arena_.keep(std::string_view(plain)), raw, false);
          ++next_;
          continue;
        }
        const std::uint32_t field_at = token().end;
        PythonNode* const value = field(at, raw);
        if (value != nullptr && value->op == '=') {
          // "{x=}" writes its own text as well.
          const std::uint32_t end = value->second;
          add(text_.substr(field_at, end - field_at), true, false);
        }
        flush(Value::Kind::kText);
        parts.push(value);
      }
      expect(Tok::kFormatEnd);
      continue;
    }
    written.remove_prefix(prefix);
    const std::size_t quotes = written.starts_with("'''") || written.starts_with("\"\"\"") ? 3 : 1;
    add(written.substr(quotes, written.size() - 2 * quotes), raw, is_bytes);
    ++next_;
  }
  if (bytes && text_seen) {
    fail("cannot mix bytes and nonbytes literals", at);
  }
  if (formatted) {
    flush(Value::Kind::kText);
    // Empty texts are not parts.
    Parts all(*this);
    for (PythonNode* const part : parts.list()) {
      if (part == nullptr || part->kind != Ast::kConstant || !part->value->text.empty()) {
        all.push(part);
      }
    }
    return all.node(Ast::kJoined, at);
  }
  flush(bytes ? Value::Kind::kBytes : Value::Kind::kText);
  return parts.size() > 0 ? parts.list().front() : nullptr;
}

// "{value=!r:{width}}", with "r" in `other`. Of one with "=", `second` is where that ends.
PythonNode* PythonParser::field(std::uint32_t at, bool raw) {
  expect(Tok::kLeftBrace);
  Parts parts(*this);
  parts.push(yield_or_expressions());
  PythonNode whole{.kind = Ast::kFormatted, .at = at};
  if (kind() == Tok::kAssign) {
    ++next_;
    whole.op = '=';
    whole.second = token().begin;
  }
  if (take(Tok::kBang)) {
    whole.other = identifier();
  }
  parts.push(take(Tok::kColon) ? specification(at, raw) : nullptr);
  expect(Tok::kRightBrace);
  return make(whole, parts.list());
}

PythonNode* PythonParser::specification(std::uint32_t at, bool raw) {
  const Nesting nesting(*this);
  Parts parts(*this);
  while (!failed() && kind() != Tok::kRightBrace) {
    if (kind() == Tok::kFormatMiddle) {
      const Literal literal = unescaped(text_of(token()), false, raw, arena_);
      const Value value{
          .kind = literal.end == Literal::End::kKnown ? Value::Kind::kText : Value::Kind::kUnknown,
          .text = literal.text};
      parts.push(make({.kind = Ast::kConstant, .at = at, .value = arena_.make(value)}));
      ++next_;
    } else {
      parts.push(field(at, raw));
    }
  }
  return parts.node(Ast::kJoined, at);
}

}  // namespace glovebox::analyser
