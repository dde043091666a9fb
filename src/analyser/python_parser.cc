// SPDX-License-Identifier: Apache-2.0
// The statements of Python; python_expressions.cc has the expressions.
#include "analyser/python_parser.h"

#include <initializer_list>
#include <utility>

#include "analyser/python_grammar.h"

namespace glovebox::analyser {

PythonTree parse_python(std::string_view text, Arena& arena) {
  return PythonParser(text, arena).run();
}

PythonParser::PythonParser(std::string_view text, Arena& arena)
    : text_(text), arena_(arena), tokens_(tokens_of(text)) {
  if (!tokens_.problem.empty()) {
    fail(std::move(tokens_.problem), tokens_.problem_at);
  }
}

PythonTree PythonParser::run() {
  Parts body(*this);
  while (!failed() && kind() != Tok::kEnd) {
    statement(body);
  }
  const PythonNode* const module = failed() ? nullptr : body.node(Ast::kModule, 0);
  return {.module = failed() ? nullptr : module,
          .nodes = made_,
          .has_magic = has_magic_,
          .problem = std::move(problem_),
          .problem_at = problem_at_};
}

void PythonParser::fail(std::string why, std::uint32_t at) {
  if (!failed()) {
    problem_ = std::move(why);
    problem_at_ = at;
  }
}

PythonNode* PythonParser::make(PythonNode node, std::span<PythonNode* const> parts) {
  node.parts = arena_.keep(parts);
  for (const PythonNode* const part : parts) {
    if (part != nullptr && part->depth >= node.depth) {
      node.depth = static_cast<std::uint16_t>(part->depth + 1);
    }
  }
  if (node.depth > kMostNesting || arena_.full()) {
    fail("it is nested too deeply", node.at);
    node.depth = 1;
    node.parts = {};
  }
  node.number = made_++;
  return arena_.make(node);
}

bool PythonParser::at_word(std::string_view word) const {
  return kind() == Tok::kName && text_of(token()) == word;
}

void PythonParser::expect(Tok wanted) {
  if (!take(wanted)) {
    fail("invalid syntax", token().begin);
  }
}

std::string_view PythonParser::identifier() {
  const Token name = token();
  expect(Tok::kName);
  if (failed()) {
    return {};
  }
  const auto normal = normalized(text_of(name), arena_);
  if (!normal) {
    fail("invalid character in identifier", name.begin);
  }
  return normal.value_or("");
}

// Statements

void PythonParser::statement(Parts& into) {
  switch (kind()) {
    case Tok::kIf:
      into.push(if_statement());
      break;
    case Tok::kWhile:
    case Tok::kFor:
      into.push(loop());
      break;
    case Tok::kTry:
      into.push(try_statement());
      break;
    case Tok::kWith:
      into.push(with_statement());
      break;
    case Tok::kAsync:
      ++next_;
      if (kind() != Tok::kDef && kind() != Tok::kFor && kind() != Tok::kWith) {
        fail("invalid syntax", token().begin);
        return;
      }
      async_at_ = tokens_.list[next_ - 1].begin;
      statement(into);
      break;
    case Tok::kDef:
    case Tok::kClass:
    case Tok::kAt:
      into.push(definition());
      break;
    case Tok::kMagic: {
      const Token line = token();
      ++next_;
      has_magic_ = true;
      into.push(make({.kind = Ast::kMagic, .at = line.begin, .name = text_of(line)}));
      take(Tok::kNewline);
      break;
    }
    default:
      if (is_match()) {
        into.push(match_statement());
      } else {
        simple_statements(into);
      }
  }
}

void PythonParser::simple_statements(Parts& into) {
  do {
    if (kind() == Tok::kNewline) {
      break;
    }
    into.push(simple_statement());
  } while (!failed() && take(Tok::kSemicolon));
  expect(Tok::kNewline);
}

PythonNode* PythonParser::simple_statement() {
  const std::uint32_t at = token().begin;
  switch (kind()) {
    case Tok::kPass:
    case Tok::kBreak:
    case Tok::kContinue: {
      const char op = kind() == Tok::kBreak ? 'b' : '\0';
      ++next_;
      return make({.kind = Ast::kPass, .op = op, .at = at});
    }
    case Tok::kImport:
    case Tok::kFrom:
      return import();
    case Tok::kReturn:
      ++next_;
      return ends_statement() ? make({.kind = Ast::kReturn, .at = at})
                              : node(Ast::kReturn, at, {expressions()});
    case Tok::kRaise: {
      ++next_;
      if (ends_statement()) {
        return make({.kind = Ast::kRaise, .at = at});
      }
      PythonNode* const raised = expressions();  // "raise E, V" is no Python 3, and does no harm.
      return node(Ast::kRaise, at, {raised, take(Tok::kFrom) ? expression() : nullptr});
    }
    case Tok::kGlobal:
    case Tok::kNonlocal:
      ++next_;
      do {
        identifier();
      } while (take(Tok::kComma));
      return make({.kind = Ast::kGlobal, .at = at});
    case Tok::kDel: {
      ++next_;
      Parts targets(*this);
      expression_list(targets, Tok::kNewline);
      targets.use(Use::kDelete);
      return targets.node(Ast::kDelete, at);
    }
    case Tok::kAssert: {
      ++next_;
      PythonNode* const condition = expression();
      return node(Ast::kAssert, at, {condition, take(Tok::kComma) ? expression() : nullptr});
    }
    default:
      return at_word("type") && next_kind() == Tok::kName ? type_alias() : assignment();
  }
}

PythonNode* PythonParser::type_alias() {
  const std::uint32_t at = token().begin;
  ++next_;
  Parts parts(*this);
  const std::uint32_t name_at = token().begin;
  parts.push(make({.kind = Ast::kName, .use = Use::kStore, .at = name_at, .name = identifier()}));
  type_parameters(parts);
  expect(Tok::kAssign);
  parts.push(expression());
  return parts.node(Ast::kTypeAlias, at);
}

void PythonParser::type_parameters(Parts& into) {
  if (!take(Tok::kLeftBracket)) {
    return;
  }
  while (!failed() && kind() != Tok::kRightBracket) {
    const std::uint32_t at = token().begin;
    if (!take(Tok::kStar)) {
      take(Tok::kPower);
    }
    const std::string_view name = identifier();
    PythonNode* const bound = take(Tok::kColon) ? expression() : nullptr;
    PythonNode* const otherwise = take(Tok::kAssign) ? starred() : nullptr;
    const std::initializer_list<PythonNode*> parts = {bound, otherwise};
    into.push(make({.kind = Ast::kTypeParameter, .at = at, .name = name}, parts));
    if (!take(Tok::kComma)) {
      break;
    }
  }
  expect(Tok::kRightBracket);
}

// An expression, or what is assigned to one.
PythonNode* PythonParser::assignment() {
  const std::uint32_t at = token().begin;
  PythonNode* const first = yield_or_expressions();
  if (take(Tok::kColon)) {
    set_use(first, Use::kStore);
    PythonNode* const annotation = expression();
    PythonNode* const value = take(Tok::kAssign) ? yield_or_expressions() : nullptr;
    return node(Ast::kAnnAssign, at, {first, annotation, value});
  }
  if (take(Tok::kAugmented)) {
    set_use(first, Use::kStore);
    return node(Ast::kAugAssign, at, {first, yield_or_expressions()});
  }
  if (kind() != Tok::kAssign) {
    return node(Ast::kExpr, at, {first});
  }
  Parts parts(*this);
  PythonNode* last = first;
  while (!failed() && take(Tok::kAssign)) {
    set_use(last, Use::kStore);
    parts.push(last);
    last = yield_or_expressions();
  }
  const std::size_t targets = parts.size();
  parts.push(last);
  return parts.node(Ast::kAssign, at, {.split = static_cast<std::uint32_t>(targets)});
}

std::string_view PythonParser::dotted_name() {
  const std::uint32_t at = token().begin;
  std::string name(identifier());
  bool plain = true;
  std::uint32_t end = tokens_.list[next_ == 0 ? 0 : next_ - 1].end;
  while (!failed() && take(Tok::kDot)) {
    name += '.';
    name += identifier();
    plain = plain && tokens_.list[next_ - 1].begin == end + 1;
    end = tokens_.list[next_ - 1].end;
  }
  const std::string_view written = failed() ? std::string_view{} : text_.substr(at, end - at);
  return plain && written == name ? written : arena_.keep(std::string_view(name));
}

PythonNode* PythonParser::import() {
  const std::uint32_t at = token().begin;
  PythonNode whole{.kind = take(Tok::kImport) ? Ast::kImport : Ast::kImportFrom, .at = at};
  bool parentheses = false;
  if (whole.kind == Ast::kImportFrom) {
    ++next_;
    const std::uint32_t dots = token().begin;
    while (take(Tok::kDot) || take(Tok::kEllipsis)) {
    }
    whole.other = text_.substr(dots, kind() == Tok::kEnd || token().begin == dots ? 0 : 1);
    if (kind() != Tok::kImport || whole.other.empty()) {
      whole.name = dotted_name();
    }
    expect(Tok::kImport);
    parentheses = take(Tok::kLeftParen);
  }
  Parts names(*this);
  do {
    const std::uint32_t name_at = token().begin;
    if (parentheses && kind() == Tok::kRightParen) {
      break;
    }
    PythonNode alias{.kind = Ast::kAlias, .at = name_at};
    if (whole.kind == Ast::kImportFrom && take(Tok::kStar)) {
      alias.name = "*";
    } else {
      alias.name = whole.kind == Ast::kImport ? dotted_name() : identifier();
      alias.other = take(Tok::kAs) ? identifier() : std::string_view{};
    }
    names.push(make(alias));
  } while (!failed() && take(Tok::kComma));
  if (parentheses) {
    expect(Tok::kRightParen);
  }
  return make(whole, names.list());
}

// Statements with blocks

void PythonParser::block(Parts& into) {
  expect(Tok::kColon);
  if (!take(Tok::kNewline)) {
    simple_statements(into);
    return;
  }
  expect(Tok::kIndent);
  while (!failed() && !take(Tok::kDedent)) {
    statement(into);
  }
}

void PythonParser::else_block(Parts& into) {
  if (take(Tok::kElse)) {
    block(into);
  }
}

PythonNode* PythonParser::if_statement() {
  // From the last to the first: each "elif" is an "if" within the one before.
  std::vector<PythonNode> heads;
  std::vector<std::span<PythonNode* const>> bodies;
  while (!failed() && (take(Tok::kIf) || take(Tok::kElif))) {
    Parts parts(*this);
    const std::uint32_t at = tokens_.list[next_ - 1].begin;
    parts.push(named_expression());
    block(parts);
    heads.push_back({.kind = Ast::kIf, .at = at});
    bodies.push_back(arena_.keep(parts.list()));
    if (kind() != Tok::kElif) {
      break;
    }
  }
  Parts rest(*this);
  else_block(rest);
  PythonNode* inner = nullptr;
  for (std::size_t i = heads.size(); i-- > 0;) {
    Parts parts(*this);
    for (PythonNode* const part : bodies[i]) {
      parts.push(part);
    }
    if (inner != nullptr) {
      parts.push(inner);
    } else {
      for (PythonNode* const part : rest.list()) {
        parts.push(part);
      }
    }
    inner = make(heads[i], parts.list());
  }
  return inner;
}

PythonNode* PythonParser::loop() {
  const std::uint32_t at = start();
  PythonNode whole{.kind = take(Tok::kWhile) ? Ast::kWhile : Ast::kFor, .at = at};
  Parts parts(*this);
  if (whole.kind == Ast::kWhile) {
    parts.push(named_expression());
  } else {
    ++next_;
    parts.push(targets());
    expect(Tok::kIn);
    parts.push(expressions());
  }
  block(parts);
  whole.split = static_cast<std::uint32_t>(parts.size());
  else_block(parts);
  return make(whole, parts.list());
}

PythonNode* PythonParser::try_statement() {
  const std::uint32_t at = token().begin;
  ++next_;
  Parts parts(*this);
  block(parts);
  while (!failed() && kind() == Tok::kExcept) {
    const std::uint32_t handler_at = token().begin;
    ++next_;
    take(Tok::kStar);
    Parts handler(*this);
    handler.push(kind() == Tok::kColon ? nullptr : expressions());
    const std::string_view name = take(Tok::kAs) ? identifier() : std::string_view{};
    block(handler);
    parts.push(make({.kind = Ast::kHandler, .at = handler_at, .name = name}, handler.list()));
  }
  else_block(parts);
  if (take(Tok::kFinally)) {
    block(parts);
  }
  return parts.node(Ast::kTry, at);
}

PythonNode* PythonParser::with_statement() {
  const std::uint32_t at = start();
  ++next_;
  Parts parts(*this);
  // Parentheses enclose the items, or are part of the first one.
  const std::size_t before = next_;
  bool around = take(Tok::kLeftParen);
  if (around) {
    do {
      if (kind() == Tok::kRightParen) {
        break;
      }
      parts.push(with_item());
    } while (!failed() && take(Tok::kComma));
    around = !failed() && take(Tok::kRightParen) && kind() == Tok::kColon && parts.size() > 0;
    if (!around) {
      problem_.clear();
      next_ = before;
      parts.clear();
    }
  }
  if (!around) {
    do {
      parts.push(with_item());
    } while (!failed() && take(Tok::kComma));
  }
  block(parts);
  return parts.node(Ast::kWith, at);
}

PythonNode* PythonParser::with_item() {
  const std::uint32_t at = token().begin;
  PythonNode* const context = expression();
  PythonNode* target = nullptr;
  if (take(Tok::kAs)) {
    target = starred();
    set_use(target, Use::kStore);
  }
  return node(Ast::kWithItem, at, {context, target});
}

PythonNode* PythonParser::definition() {
  Parts decorators(*this);
  while (!failed() && take(Tok::kAt)) {
    decorators.push(named_expression());
    expect(Tok::kNewline);
  }
  if (decorators.size() > 0 && take(Tok::kAsync)) {
    async_at_ = tokens_.list[next_ - 1].begin;
  }
  PythonNode whole{.kind = kind() == Tok::kClass ? Ast::kClass : Ast::kFunction, .at = start()};
  if (kind() != Tok::kClass && kind() != Tok::kDef) {
    fail("invalid syntax", token().begin);
    return nullptr;
  }
  ++next_;
  whole.name = identifier();
  Parts types(*this);
  type_parameters(types);
  Parts parts(*this);
  PythonNode* returns = nullptr;
  if (whole.kind == Ast::kClass) {
    if (take(Tok::kLeftParen)) {
      arguments(parts);
    }
  } else {
    expect(Tok::kLeftParen);
    parts.push(parameters(Tok::kRightParen));
    expect(Tok::kRightParen);
    returns = take(Tok::kArrow) ? expression() : nullptr;
  }
  block(parts);
  for (PythonNode* const decorator : decorators.list()) {
    parts.push(decorator);
  }
  parts.push(returns);
  for (PythonNode* const type : types.list()) {
    parts.push(type);
  }
  return make(whole, parts.list());
}

// Matching

// "match" is a keyword only if a block of cases follows.
bool PythonParser::is_match() const {
  if (!at_word("match")) {
    return false;
  }
  std::size_t end = next_;
  while (tokens_.list[end].kind != Tok::kNewline && tokens_.list[end].kind != Tok::kEnd) {
    ++end;
  }
  return end + 2 < tokens_.list.size() && end > next_ + 1 &&
         tokens_.list[end - 1].kind == Tok::kColon && tokens_.list[end + 1].kind == Tok::kIndent &&
         tokens_.list[end + 2].kind == Tok::kName && text_of(tokens_.list[end + 2]) == "case";
}

PythonNode* PythonParser::match_statement() {
  const std::uint32_t at = token().begin;
  ++next_;
  Parts parts(*this);
  parts.push(expressions());
  expect(Tok::kColon);
  expect(Tok::kNewline);
  expect(Tok::kIndent);
  while (!failed() && !take(Tok::kDedent)) {
    const std::uint32_t case_at = token().begin;
    if (!at_word("case")) {
      fail("invalid syntax", case_at);
      break;
    }
    ++next_;
    Parts one(*this);
    one.push(patterns());
    one.push(take(Tok::kIf) ? named_expression() : nullptr);
    block(one);
    parts.push(one.node(Ast::kCase, case_at));
  }
  return parts.node(Ast::kMatch, at);
}

PythonNode* PythonParser::patterns() {
  const std::uint32_t at = token().begin;
  PythonNode* const first = pattern();
  if (kind() != Tok::kComma) {
    return first;
  }
  Parts parts(*this);
  parts.push(first);
  while (!failed() && take(Tok::kComma) && kind() != Tok::kColon && kind() != Tok::kIf) {
    parts.push(pattern());
  }
  return parts.node(Ast::kPatternSequence, at);
}

PythonNode* PythonParser::pattern() {
  const Nesting nesting(*this);
  const std::uint32_t at = token().begin;
  if (take(Tok::kStar)) {
    return make({.kind = Ast::kPatternStar, .at = at, .name = identifier()});
  }
  Parts options(*this);
  do {
    options.push(closed_pattern());
  } while (!failed() && take(Tok::kBar));
  PythonNode* const whole =
      options.size() == 1 ? options.list().front() : options.node(Ast::kPatternOr, at);
  if (!take(Tok::kAs)) {
    return whole;
  }
  const std::string_view name = identifier();
  const std::initializer_list<PythonNode*> parts = {whole};
  return make({.kind = Ast::kPatternAs, .at = at, .name = name}, parts);
}

PythonNode* PythonParser::closed_pattern() {
  const std::uint32_t at = token().begin;
  if (kind() == Tok::kLeftParen || kind() == Tok::kLeftBracket) {
    const Tok close = kind() == Tok::kLeftParen ? Tok::kRightParen : Tok::kRightBracket;
    ++next_;
    Parts parts(*this);
    bool sequence = close == Tok::kRightBracket || kind() == close;
    while (!failed() && kind() != close) {
      parts.push(pattern());
      if (!take(Tok::kComma)) {
        break;
      }
      sequence = true;
    }
    expect(close);
    return sequence || failed() ? parts.node(Ast::kPatternSequence, at) : parts.list().front();
  }
  if (take(Tok::kLeftBrace)) {
    return mapping_pattern(at);
  }
  if (kind() != Tok::kName) {
    return node(Ast::kPatternValue, at, {sum_in_pattern()});
  }
  if (next_kind() != Tok::kDot && next_kind() != Tok::kLeftParen) {
    const std::string_view name = identifier();
    return make({.kind = Ast::kPatternAs, .at = at, .name = name == "_" ? "" : name});
  }
  PythonNode* value = make({.kind = Ast::kName, .at = at, .name = identifier()});
  while (!failed() && take(Tok::kDot)) {
    const std::initializer_list<PythonNode*> parts = {value};
    const std::string_view name = identifier();
    value = make({.kind = Ast::kAttribute, .at = at, .name = name}, parts);
  }
  if (!take(Tok::kLeftParen)) {
    return node(Ast::kPatternValue, at, {value});
  }
  Parts parts(*this);
  parts.push(value);
  while (!failed() && kind() != Tok::kRightParen) {
    if (kind() == Tok::kName && next_kind() == Tok::kAssign) {
      next_ += 2;
    }
    parts.push(pattern());
    if (!take(Tok::kComma)) {
      break;
    }
  }
  expect(Tok::kRightParen);
  return parts.node(Ast::kPatternClass, at);
}

PythonNode* PythonParser::mapping_pattern(std::uint32_t at) {
  Parts keys(*this);
  std::vector<PythonNode*> found;
  PythonNode whole{.kind = Ast::kPatternMapping, .at = at};
  while (!failed() && kind() != Tok::kRightBrace) {
    if (take(Tok::kPower)) {
      whole.name = identifier();
    } else {
      keys.push(sum_in_pattern());
      expect(Tok::kColon);
      found.push_back(pattern());
    }
    if (!take(Tok::kComma)) {
      break;
    }
  }
  expect(Tok::kRightBrace);
  for (PythonNode* const value : found) {
    keys.push(value);
  }
  return make(whole, keys.list());
}

// Numbers with a sign, complex ones, and strings.
PythonNode* PythonParser::sum_in_pattern() { return arithmetic(kAboveBars); }

}  // namespace glovebox::analyser
