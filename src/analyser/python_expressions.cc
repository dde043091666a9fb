// SPDX-License-Identifier: Apache-2.0
// The expressions of Python, down to operators; python_primaries.cc has what they join,
// python_parser.cc the statements.
#include <algorithm>
#include <string>
#include <utility>

#include "analyser/python_grammar.h"

namespace glovebox::analyser {
namespace {

// How tightly an arithmetic operator binds; 0: it is not one.
int strength_of(Tok kind) {
  switch (kind) {
    case Tok::kBar:
      return 1;
    case Tok::kCaret:
      return 2;
    case Tok::kAmpersand:
      return 3;
    case Tok::kShift:
      return 4;
    case Tok::kPlus:
    case Tok::kMinus:
      return 5;
    case Tok::kStar:
    case Tok::kAt:
    case Tok::kSlash:
    case Tok::kFloorDivide:
    case Tok::kPercent:
      return 6;
    default:
      return 0;
  }
}

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
void PythonParser::set_use(PythonNode* node, Use use) {
  if (node == nullptr) {
    return;
  }
  switch (node->kind) {
    case Ast::kName:
    case Ast::kAttribute:
    case Ast::kSubscript:
      node->use = use;
      break;
    case Ast::kTuple:
    case Ast::kList:
    case Ast::kStarred:
      node->use = use;
      for (PythonNode* const part : node->parts) {
        set_use(part, use);
      }
      break;
    default:
      break;
  }
}

// Lists

PythonNode* PythonParser::yield_or_expressions() {
  if (kind() != Tok::kYield) {
    return expressions();
  }
  const std::uint32_t at = token().begin;
  ++next_;
  if (take(Tok::kFrom)) {
    PythonNode* const from = expression();
    const std::initializer_list<PythonNode*> parts = {from};
    return make({.kind = Ast::kYield, .op = 'f', .at = at}, parts);
  }
  switch (kind()) {
    case Tok::kNewline:
    case Tok::kSemicolon:
    case Tok::kRightParen:
    case Tok::kRightBrace:
    case Tok::kAssign:
    case Tok::kBang:
    case Tok::kColon:
    case Tok::kEnd:
      return make({.kind = Ast::kYield, .at = at});
    default:
      return node(Ast::kYield, at, {expressions()});
  }
}

PythonNode* PythonParser::expressions() {
  const std::uint32_t at = token().begin;
  PythonNode* const first = starred();
  if (kind() != Tok::kComma) {
    return first;
  }
  Parts parts(*this);
  parts.push(first);
  ++next_;
  expression_list(parts, Tok::kAssign);
  return parts.node(Ast::kTuple, at);
}

// Further elements, if any: what cannot begin one ends the list.
void PythonParser::expression_list(Parts& into, Tok end) {
  while (!failed()) {
    switch (kind()) {
      case Tok::kNewline:
      case Tok::kSemicolon:
      case Tok::kAssign:
      case Tok::kAugmented:
      case Tok::kColon:
      case Tok::kBang:
      case Tok::kIn:
      case Tok::kRightParen:
      case Tok::kRightBracket:
      case Tok::kRightBrace:
      case Tok::kEnd:
        return;
      default:
        break;
    }
    if (kind() == end) {
      return;
    }
    into.push(starred());
    if (!take(Tok::kComma)) {
      return;
    }
  }
}

PythonNode* PythonParser::targets() {
  const std::uint32_t at = token().begin;
  const auto one = [&] {
    const std::uint32_t begin = token().begin;
    return take(Tok::kStar) ? node(Ast::kStarred, begin, {primary()}) : primary();
  };
  PythonNode* whole = one();
  if (kind() == Tok::kComma) {
    Parts parts(*this);
    parts.push(whole);
    while (!failed() && take(Tok::kComma) && kind() != Tok::kIn) {
      parts.push(one());
    }
    whole = parts.node(Ast::kTuple, at);
  }
  set_use(whole, Use::kStore);
  return whole;
}

PythonNode* PythonParser::starred() {
  const std::uint32_t at = token().begin;
  return take(Tok::kStar) ? node(Ast::kStarred, at, {arithmetic()}) : named_expression();
}

// Expressions

PythonNode* PythonParser::named_expression() {
  const std::uint32_t at = token().begin;
  PythonNode* const name = expression();
  if (!take(Tok::kWalrus)) {
    return name;
  }
  set_use(name, Use::kStore);
  return node(Ast::kNamedExpr, at, {name, expression()});
}

// NOLINTNEXTLINE(misc-no-recursion): Nesting bounds it.
PythonNode* PythonParser::expression() {
  const Nesting nesting(*this);
  if (kind() == Tok::kLambda) {
    return lambda();
  }
  const std::uint32_t at = token().begin;
  PythonNode* const body = disjunction();
  if (!take(Tok::kIf)) {
    return body;
  }
  PythonNode* const test = disjunction();
  expect(Tok::kElse);
  return node(Ast::kIfExp, at, {test, body, expression()});
}

PythonNode* PythonParser::lambda() {
  const std::uint32_t at = token().begin;
  ++next_;
  PythonNode* const takes = parameters(Tok::kColon);
  expect(Tok::kColon);
  return node(Ast::kLambda, at, {takes, expression()});
}

// Of a function or of a lambda, whose parameters have no annotations.
PythonNode* PythonParser::parameters(Tok end) {
  Parts positional(*this);
  Parts named(*this);
  Parts named_defaults(*this);
  Parts defaults(*this);
  PythonNode* rest = nullptr;
  PythonNode* keywords = nullptr;
  bool only_named = false;
  const std::uint32_t at = token().begin;
  while (!failed() && kind() != end) {
    if (take(Tok::kSlash)) {
    } else if (kind() == Tok::kStar && (next_kind() == Tok::kComma || next_kind() == end)) {
      ++next_;
      only_named = true;
    } else {
      PythonNode arg{.kind = Ast::kArg, .use = only_named ? Use::kKeywordOnly : Use::kPositional};
      arg.use = take(Tok::kStar) ? Use::kRest : take(Tok::kPower) ? Use::kKeywords : arg.use;
      arg.at = token().begin;
      arg.name = identifier();
      PythonNode* const annotation =
          end == Tok::kRightParen && take(Tok::kColon) ? starred() : nullptr;
      const std::initializer_list<PythonNode*> parts = {annotation};
      PythonNode* const made = make(arg, parts);
      PythonNode* const value = take(Tok::kAssign) ? expression() : nullptr;
      if (arg.use == Use::kRest) {
        rest = made;
        only_named = true;
      } else if (arg.use == Use::kKeywords) {
        keywords = made;
      } else if (only_named) {
        named.push(made);
        named_defaults.push(value);
      } else {
        positional.push(made);
        if (value != nullptr) {
          defaults.push(value);
        }
      }
    }
    if (!take(Tok::kComma)) {
      break;
    }
  }
  Parts all(*this);
  for (PythonNode* const each : positional.list()) {
    all.push(each);
  }
  all.push(rest);
  for (const Parts* const list : {&named, &named_defaults}) {
    for (PythonNode* const each : list->list()) {
      all.push(each);
    }
  }
  all.push(keywords);
  const auto before = static_cast<std::uint32_t>(all.size());
  for (PythonNode* const each : defaults.list()) {
    all.push(each);
  }
  return all.node(Ast::kArguments, at,
                  {.split = static_cast<std::uint32_t>(positional.size()), .second = before});
}

PythonNode* PythonParser::disjunction() {
  const std::uint32_t at = token().begin;
  PythonNode* const first = conjunction();
  if (kind() != Tok::kOr) {
    return first;
  }
  Parts parts(*this);
  parts.push(first);
  while (take(Tok::kOr)) {
    parts.push(conjunction());
  }
  return parts.node(Ast::kBoolOp, at);
}

PythonNode* PythonParser::conjunction() {
  const std::uint32_t at = token().begin;
  PythonNode* const first = inversion();
  if (kind() != Tok::kAnd) {
    return first;
  }
  Parts parts(*this);
  parts.push(first);
  while (take(Tok::kAnd)) {
    parts.push(inversion());
  }
  return parts.node(Ast::kBoolOp, at);
}

// NOLINTNEXTLINE(misc-no-recursion): Nesting bounds it.
PythonNode* PythonParser::inversion() {
  if (kind() != Tok::kNot) {
    return comparison();
  }
  const Nesting nesting(*this);
  const std::uint32_t at = token().begin;
  ++next_;
  PythonNode* const operand = inversion();
  const std::initializer_list<PythonNode*> parts = {operand};
  return make({.kind = Ast::kUnaryOp, .op = 'n', .at = at}, parts);
}

PythonNode* PythonParser::comparison() {
  const auto compares = [this] {
    if (take(Tok::kCompare) || take(Tok::kIn)) {
      return true;
    }
    if (kind() == Tok::kNot && next_kind() == Tok::kIn) {
      next_ += 2;
      return true;
    }
    if (take(Tok::kIs)) {
      take(Tok::kNot);
      return true;
    }
    return false;
  };
  const std::uint32_t at = token().begin;
  PythonNode* const first = arithmetic();
  if (!compares()) {
    return first;
  }
  Parts parts(*this);
  parts.push(first);
  do {
    parts.push(arithmetic());
  } while (compares());
  return parts.node(Ast::kCompare, at);
}

// Operators that bind tighter than `least`.
// NOLINTNEXTLINE(misc-no-recursion): Nesting bounds it, and there are six strengths.
PythonNode* PythonParser::arithmetic(int least) {
  const std::uint32_t at = token().begin;
  PythonNode* left = unary();
  for (;;) {
    const Tok kind_here = kind();
    const int strength = strength_of(kind_here);
    if (strength <= least) {
      return left;
    }
    const char op = kind_here == Tok::kFloorDivide ? 'f' : text_[token().begin];
    ++next_;
    PythonNode* const right = arithmetic(strength);
    const std::initializer_list<PythonNode*> parts = {left, right};
    left = make({.kind = Ast::kBinOp, .op = op, .at = at}, parts);
  }
}

// NOLINTNEXTLINE(misc-no-recursion): Nesting bounds it.
PythonNode* PythonParser::unary() {
  if (kind() != Tok::kPlus && kind() != Tok::kMinus && kind() != Tok::kTilde) {
    return power();
  }
  const Nesting nesting(*this);
  const std::uint32_t at = token().begin;
  const char op = text_[at];
  ++next_;
  PythonNode* const operand = unary();
  const std::initializer_list<PythonNode*> parts = {operand};
  return make({.kind = Ast::kUnaryOp, .op = op, .at = at}, parts);
}

PythonNode* PythonParser::power() {
  const std::uint32_t at = token().begin;
  PythonNode* const base = take(Tok::kAwait) ? node(Ast::kAwait, at, {primary()}) : primary();
  if (!take(Tok::kPower)) {
    return base;
  }
  const Nesting nesting(*this);
  PythonNode* const exponent = unary();
  const std::initializer_list<PythonNode*> parts = {base, exponent};
  return make({.kind = Ast::kBinOp, .op = 'p', .at = at}, parts);
}

}  // namespace glovebox::analyser
