// SPDX-License-Identifier: Apache-2.0
// The parser behind python_parser.h: recursive descent over a list of tokens.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyser/python_lexer.h"
#include "analyser/python_literals.h"
#include "analyser/python_parser.h"
#include "analyser/python_tree.h"

namespace glovebox::analyser {

// After the first problem, each token reads as the end of the text, so that parsing ends soon.
class PythonParser {
 public:
  PythonParser(std::string_view text, Arena& arena);
  PythonTree run();

 private:
  static constexpr int kMostNesting = 1'200;  // Of nodes, and of calls of the same function.

  // The parts of a node that is not made yet.
  class Parts {
   public:
    explicit Parts(PythonParser& parser) : parser_(parser) {}
    void push(PythonNode* node) { nodes_.push_back(node); }
    void clear() { nodes_.clear(); }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] std::span<PythonNode* const> list() const { return nodes_; }
    void use(Use use) {
      for (PythonNode* const node : nodes_) {
        PythonParser::set_use(node, use);
      }
    }
    struct Ends {
      std::uint32_t split = 0;
      std::uint32_t second = 0;
    };
    PythonNode* node(Ast kind, std::uint32_t at) { return node(kind, at, {}); }
    PythonNode* node(Ast kind, std::uint32_t at, Ends ends) {
      return parser_.make({.kind = kind, .at = at, .split = ends.split, .second = ends.second},
                          nodes_);
    }

   private:
    PythonParser& parser_;
    std::vector<PythonNode*> nodes_;
  };

  class Nesting {
   public:
    explicit Nesting(PythonParser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMostNesting) {
        parser_.fail("it is nested too deeply", parser_.token().begin);
      }
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    PythonParser& parser_;
  };

  [[nodiscard]] bool failed() const { return !problem_.empty(); }
  void fail(std::string why, std::uint32_t at);
  [[nodiscard]] const Token& token() const { return tokens_.list[next_]; }
  [[nodiscard]] Tok kind() const { return failed() ? Tok::kEnd : token().kind; }
  [[nodiscard]] Tok next_kind() const {
    return next_ + 1 < tokens_.list.size() && !failed() ? tokens_.list[next_ + 1].kind : Tok::kEnd;
  }
  [[nodiscard]] std::string_view text_of(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  [[nodiscard]] bool at_word(std::string_view word) const;
  bool take(Tok wanted) {
    const bool taken = kind() == wanted;
    next_ += taken ? 1 : 0;
    return taken;
  }
  void expect(Tok wanted);
  std::string_view identifier();
  PythonNode* make(PythonNode node, std::span<PythonNode* const> parts = {});
  PythonNode* node(Ast kind, std::uint32_t at, std::initializer_list<PythonNode*> parts) {
    return make({.kind = kind, .at = at}, parts);
  }
  static void set_use(PythonNode* node, Use use);

  // Where the statement begins: at "async", if that came before.
  std::uint32_t start() {
    const std::uint32_t at = async_at_ != kNowhere ? async_at_ : token().begin;
    async_at_ = kNowhere;
    return at;
  }
  [[nodiscard]] bool ends_statement() const {
    return kind() == Tok::kNewline || kind() == Tok::kSemicolon || kind() == Tok::kEnd;
  }

  // Statements
  void statement(Parts& into);
  void simple_statements(Parts& into);
  PythonNode* simple_statement();
  PythonNode* type_alias();
  void type_parameters(Parts& into);
  PythonNode* assignment();
  std::string_view dotted_name();
  PythonNode* import();
  void block(Parts& into);
  void else_block(Parts& into);
  PythonNode* if_statement();
  PythonNode* loop();
  PythonNode* try_statement();
  PythonNode* with_statement();
  PythonNode* with_item();
  PythonNode* definition();
  [[nodiscard]] bool is_match() const;
  PythonNode* match_statement();
  PythonNode* patterns();
  PythonNode* pattern();
  PythonNode* closed_pattern();
  PythonNode* mapping_pattern(std::uint32_t at);
  PythonNode* sum_in_pattern();

  // Expressions, from those that bind least
  PythonNode* yield_or_expressions();
  PythonNode* expressions();  // "a, *b" is a tuple.
  PythonNode* targets();      // Of a loop.
  void expression_list(Parts& into, Tok end);
  PythonNode* starred();
  PythonNode* named_expression();
  PythonNode* expression();
  PythonNode* lambda();
  PythonNode* parameters(Tok end);
  PythonNode* disjunction();
  PythonNode* conjunction();
  PythonNode* inversion();
  PythonNode* comparison();
  static constexpr int kAboveBars = 4;  // Sums bind tighter than this; bars to shifts do not.
  PythonNode* arithmetic(int least = 0);
  PythonNode* unary();
  PythonNode* power();
  PythonNode* primary();
  PythonNode* subscript();
  PythonNode* slice();
  void arguments(Parts& into);
  PythonNode* argument(std::uint32_t open);
  PythonNode* atom();
  PythonNode* parenthesized();
  PythonNode* list();
  PythonNode* dictionary_or_set();
  void comprehension(Parts& into);
  [[nodiscard]] bool at_comprehension() const {
    return kind() == Tok::kFor || (kind() == Tok::kAsync && next_kind() == Tok::kFor);
  }
  PythonNode* number();
  PythonNode* strings();
  PythonNode* field(std::uint32_t at, bool raw);
  PythonNode* specification(std::uint32_t at, bool raw);

  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  std::string_view text_;
  Arena& arena_;
  Tokens tokens_;
  std::size_t next_ = 0;
  std::uint32_t made_ = 0;
  int nesting_ = 0;
  std::uint32_t async_at_ = kNowhere;
  bool has_magic_ = false;
  std::string problem_{};
  std::uint32_t problem_at_ = 0;
};

}  // namespace glovebox::analyser
