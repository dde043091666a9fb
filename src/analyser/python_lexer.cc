// SPDX-License-Identifier: Apache-2.0
#include "analyser/python_lexer.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "analyser/python_magics.h"

namespace glovebox::analyser {
namespace {

constexpr std::size_t kMostBrackets = 200;  // As in CPython.
constexpr std::size_t kMostIndents = 100;
constexpr int kMostFormats = 40;  // Formatted strings within each other.

constexpr std::array kKeywords = std::to_array<std::pair<std::string_view, Tok>>({
    {"False", Tok::kFalse},
    {"None", Tok::kNone},
    {"True", Tok::kTrue},
    {"and", Tok::kAnd},
    {"as", Tok::kAs},
    {"assert", Tok::kAssert},
    {"async", Tok::kAsync},
    {"await", Tok::kAwait},
    {"break", Tok::kBreak},
    {"class", Tok::kClass},
    {"continue", Tok::kContinue},
    {"def", Tok::kDef},
    {"del", Tok::kDel},
    {"elif", Tok::kElif},
    {"else", Tok::kElse},
    {"except", Tok::kExcept},
    {"finally", Tok::kFinally},
    {"for", Tok::kFor},
    {"from", Tok::kFrom},
    {"global", Tok::kGlobal},
    {"if", Tok::kIf},
    {"import", Tok::kImport},
    {"in", Tok::kIn},
    {"is", Tok::kIs},
    {"lambda", Tok::kLambda},
    {"nonlocal", Tok::kNonlocal},
    {"not", Tok::kNot},
    {"or", Tok::kOr},
    {"pass", Tok::kPass},
    {"raise", Tok::kRaise},
    {"return", Tok::kReturn},
    {"try", Tok::kTry},
    {"while", Tok::kWhile},
    {"with", Tok::kWith},
    {"yield", Tok::kYield},
});
static_assert(std::ranges::is_sorted(kKeywords));

// By first character; of those with the same one, the longest first.
constexpr std::array kOperators = std::to_array<std::pair<std::string_view, Tok>>({
    {"!=", Tok::kCompare},     {"%=", Tok::kAugmented},  {"%", Tok::kPercent},
    {"&=", Tok::kAugmented},   {"&", Tok::kAmpersand},   {"(", Tok::kLeftParen},
    {")", Tok::kRightParen},   {"**=", Tok::kAugmented}, {"**", Tok::kPower},
    {"*=", Tok::kAugmented},   {"*", Tok::kStar},        {"+=", Tok::kAugmented},
    {"+", Tok::kPlus},         {",", Tok::kComma},       {"-=", Tok::kAugmented},
    {"->", Tok::kArrow},       {"-", Tok::kMinus},       {"...", Tok::kEllipsis},
    {".", Tok::kDot},          {"//=", Tok::kAugmented}, {"//", Tok::kFloorDivide},
    {"/=", Tok::kAugmented},   {"/", Tok::kSlash},       {":=", Tok::kWalrus},
    {":", Tok::kColon},        {";", Tok::kSemicolon},   {"<<=", Tok::kAugmented},
    {"<<", Tok::kShift},       {"<=", Tok::kCompare},    {"<", Tok::kCompare},
    {"==", Tok::kCompare},     {"=", Tok::kAssign},      {">>=", Tok::kAugmented},
    {">=", Tok::kCompare},     {">>", Tok::kShift},      {">", Tok::kCompare},
    {"@=", Tok::kAugmented},   {"@", Tok::kAt},          {"[", Tok::kLeftBracket},
    {"]", Tok::kRightBracket}, {"^=", Tok::kAugmented},  {"^", Tok::kCaret},
    {"{", Tok::kLeftBrace},    {"|=", Tok::kAugmented},  {"|", Tok::kBar},
    {"}", Tok::kRightBrace},   {"~", Tok::kTilde},
});

constexpr auto kFirst = [](const std::pair<std::string_view, Tok>& each) {
  return each.first.front();
};
static_assert(std::ranges::is_sorted(kOperators, {}, kFirst));

// The entries of a sorted table that begin with `c`. As a span: clang 14, which builds the fuzz
// targets, cannot compile libstdc++'s subrange, which equal_range() returns.
template <typename Table>
std::span<const typename Table::value_type> beginning_with(const Table& table, char c) {
  return {std::ranges::lower_bound(table, c, {}, kFirst),
          std::ranges::upper_bound(table, c, {}, kFirst)};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Anything beyond ASCII may be part of a name; CPython refuses what may not.
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool in_name(char c) { return starts_name(c) || is_digit(c); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

char closing_of(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { tokens_.list.reserve(text.size() / 3 + 2); }

  Tokens run() {
    while (!failed() && at_ < text_.size()) {
      start_of_line();
      while (!failed() && at_ < text_.size() && !line_ended_) {
        next();
      }
    }
    if (!open_.empty()) {
      fail("'" + std::string(1, open_.back()) + "' was never closed", open_at_.back());
    }
    finish();
    return std::move(tokens_);
  }

 private:
  bool failed() const { return !tokens_.problem.empty(); }
  void fail(std::string why, std::size_t at) {
    if (!failed()) {
      tokens_.problem = std::move(why);
      tokens_.problem_at = static_cast<std::uint32_t>(at);
    }
    at_ = text_.size();
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void push(Tok kind, std::size_t begin, std::size_t end) {
    tokens_.list.push_back(
        {kind, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  }

  void finish() {
    const std::size_t end = text_.size();
    if (!tokens_.list.empty() && !line_ended_) {
      push(Tok::kNewline, end, end);
    }
    for (std::size_t i = 1; i < indents_.size(); ++i) {
      push(Tok::kDedent, end, end);
    }
    push(Tok::kEnd, end, end);
  }

  // Measures the indentation of the next line that has a token.
  void start_of_line() {
    line_ended_ = true;  // Until there is a token.
    Indent indent;
    Indent continued;
    bool split = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ') {
        ++indent.column;
        ++indent.characters;
      } else if (c == '\t') {
        indent.column = (indent.column / 8 + 1) * 8;
        ++indent.characters;
      } else if (c == '\f') {
        indent = {};
      } else if (c == '\\' && peek(1) == '\n' && at_ + 2 < text_.size()) {
        // Indentation that is split over lines counts where the first one ends.
        continued = split ? continued : indent;
        split = true;
        at_ += 1;
      } else {
        break;
      }
      ++at_;
    }
    if (at_ >= text_.size()) {
      return;
    }
    if (peek() == '#') {
      skip_comment();
    }
    if (peek() == '\n' || at_ >= text_.size()) {
      ++at_;
      return;
    }
    line_ended_ = false;
    indented(split && continued.column != 0 ? continued : indent);
    if (!failed() && (peek() == '!' || peek() == '%')) {
      magic();
    }
  }

  struct Indent {
    std::uint32_t column = 0;      // Tabs reach to the next eighth column,
    std::uint32_t characters = 0;  // or count as one: both must agree.
  };

  void indented(Indent indent) {
    const Indent current = indents_.back();
    if (indent.column == current.column) {
      if (indent.characters != current.characters) {
        fail("tabs and spaces are mixed in the indentation", at_);
      }
    } else if (indent.column > current.column) {
      if (indent.characters <= current.characters) {
        fail("tabs and spaces are mixed in the indentation", at_);
      } else if (indents_.size() >= kMostIndents) {
        fail("it is indented too deeply", at_);
      } else {
        indents_.push_back(indent);
        push(Tok::kIndent, at_, at_);
      }
    } else {
      while (indents_.size() > 1 && indents_.back().column > indent.column) {
        indents_.pop_back();
        push(Tok::kDedent, at_, at_);
      }
      if (indents_.back().column != indent.column ||
          indents_.back().characters != indent.characters) {
        fail("unindent does not match any outer indentation level", at_);
      }
    }
  }

  // A line that IPython handles before Python sees it, with lines that a backslash joins to it.
  void magic() {
    const std::size_t begin = at_;
    if (const std::size_t before = before_timed_code(
            text_.substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin));
        before > 0) {
      at_ += before;
      return;
    }
    while (at_ < text_.size() && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' && peek(1) == '\n' ? 2 : 1;
    }
    at_ = std::min(at_, text_.size());
    push(Tok::kMagic, begin, at_);
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // The next token, or what is between tokens.
  void next() {
    const char c = text_[at_];
    const std::size_t begin = at_;
    if (is_blank(c)) {
      ++at_;
    } else if (c == '#') {
      skip_comment();
    } else if (c == '\n') {
      ++at_;
      if (open_.empty()) {
        push(Tok::kNewline, begin, at_);
        line_ended_ = true;
      }
    } else if (c == '\\') {
      if (peek(1) != '\n') {
        fail("unexpected character after line continuation character", begin);
      } else if (at_ + 2 >= text_.size()) {
        fail("unexpected EOF while parsing", begin);
      } else {
        at_ += 2;
      }
    } else {
      token(c);
    }
  }

  void token(char c) {
    if (const std::size_t quote = prefix_length(); quote != kNoString) {
      string(quote);
    } else if (starts_name(c)) {
      name();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else {
      symbol(c);
    }
  }

  static constexpr std::size_t kNoString = ~std::size_t{0};
  // How many letters precede the quote that begins a string here.
  std::size_t prefix_length() const {
    std::size_t length = 0;
    bool raw = false;
    bool kind = false;
    bool unicode = false;
    for (;; ++length) {
      const char c = static_cast<char>(peek(length) | 0x20);
      if (peek(length) == '\'' || peek(length) == '"') {
        return unicode && (raw || kind) ? kNoString : length;
      }
      bool& seen = c == 'r' ? raw : c == 'u' ? unicode : kind;
      if (seen || (c != 'r' && c != 'u' && c != 'b' && c != 'f' && c != 't')) {
        return kNoString;
      }
      seen = true;
    }
  }

  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    Tok kind = Tok::kName;
    if (word.size() <= 8) {
      for (const auto& [keyword, its_kind] : beginning_with(kKeywords, word.front())) {
        kind = keyword == word ? its_kind : kind;
      }
    }
    push(kind, begin, at_);
  }

  void digits(bool (*belongs)(char)) {
    while (belongs(peek()) || (peek() == '_' && belongs(peek(1)))) {
      ++at_;
    }
  }

  void number() {
    const std::size_t begin = at_;
    const char base = static_cast<char>(peek(1) | 0x20);
    if (peek() == '0' && (base == 'x' || base == 'o' || base == 'b')) {
      at_ += 2;
      digits(base == 'x' ? is_hex : is_digit);
    } else {
      digits(is_digit);
      if (peek() == '.') {
        ++at_;
        digits(is_digit);
      }
      if ((peek() | 0x20) == 'e' &&
          (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
        at_ += 2;
        digits(is_digit);
      }
      if ((peek() | 0x20) == 'j') {
        ++at_;
      }
    }
    push(Tok::kNumber, begin, at_);
  }

  void symbol(char c) {
    const std::string_view rest = text_.substr(at_);
    const auto among = beginning_with(kOperators, c);
    const auto known =
        std::ranges::find_if(among, [&](const auto& each) { return rest.starts_with(each.first); });
    if (known == among.end()) {
      fail(c == '\0' ? "source code cannot contain null bytes" : "invalid syntax", at_);
      return;
    }
    if (c == '(' || c == '[' || c == '{') {
      if (open_.size() >= kMostBrackets) {
        fail("too many nested parentheses", at_);
        return;
      }
      open_.push_back(c);
      open_at_.push_back(at_);
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_.size() <= floor_ || closing_of(open_.back()) != c) {
        fail("unmatched '" + std::string(1, c) + "'", at_);
        return;
      }
      open_.pop_back();
      open_at_.pop_back();
    }
    push(known->second, at_, at_ + known->first.size());
    at_ += known->first.size();
  }

  // Strings

  void string(std::size_t prefix) {
    const std::size_t begin = at_;
    bool raw = false;
    bool format = false;
    for (; prefix > 0; --prefix, ++at_) {
      const char c = static_cast<char>(peek() | 0x20);
      raw = raw || c == 'r';
      format = format || c == 'f' || c == 't';
    }
    Quote quote{.sign = peek(), .triple = peek(1) == peek() && peek(2) == peek(), .raw = raw};
    at_ += quote.length();
    if (format) {
      formatted(quote, begin);
      return;
    }
    while (at_ < text_.size()) {
      if (closes(quote)) {
        at_ += quote.length();
        push(Tok::kString, begin, at_);
        return;
      }
      if (text_[at_] == '\n' && !quote.triple) {
        break;
      }
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    fail("unterminated string literal", begin);
  }

  struct Quote {
    char sign;
    bool triple;
    bool raw;
    std::size_t length() const { return triple ? 3 : 1; }
  };

  bool closes(const Quote& quote) const {
    return peek() == quote.sign &&
           (!quote.triple || (peek(1) == quote.sign && peek(2) == quote.sign));
  }

  void formatted(const Quote& quote, std::size_t begin) {
    if (++formats_ > kMostFormats) {
      fail("too many nested f-strings", begin);
      return;
    }
    push(Tok::kFormatStart, begin, at_);
    for (;;) {
      literal(quote, false);
      if (failed() || at_ >= text_.size() || (peek() == '\n' && !quote.triple)) {
        fail("unterminated f-string literal", begin);
        return;
      }
      if (closes(quote)) {
        break;
      }
      if (peek() == '}') {
        fail("f-string: single '}' is not allowed", at_);
        return;
      }
      field(quote);
    }
    push(Tok::kFormatEnd, at_, at_ + quote.length());
    at_ += quote.length();
    --formats_;
  }

  // Up to what ends it: the quote, a brace, or the end of the line.
  void literal(const Quote& quote, bool in_specification) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !closes(quote)) {
      const char c = text_[at_];
      if (c == '\n' && !quote.triple) {
        break;
      }
      if (c == '{' || c == '}') {
        if (in_specification || peek(1) != c) {
          break;
        }
        at_ += 2;
      } else if (c == '\\' && !quote.raw && peek(1) == 'N' && peek(2) == '{') {
        const std::size_t end = text_.find('}', at_);
        at_ = end == std::string_view::npos ? text_.size() : end + 1;
      } else if (c == '\\' && peek(1) != '{' && peek(1) != '}') {
        at_ += 2;
      } else {
        ++at_;
      }
    }
    at_ = std::min(at_, text_.size());
    if (at_ > begin) {
      push(Tok::kFormatMiddle, begin, at_);
    }
  }

  // "{value!r:>{width}}"
  void field(const Quote& quote) {
    if (open_.size() >= kMostBrackets) {
      fail("f-string: expressions nested too deeply", at_);
      return;
    }
    push(Tok::kLeftBrace, at_, at_ + 1);
    open_.push_back('{');
    open_at_.push_back(at_);
    const std::size_t outer = std::exchange(floor_, open_.size());
    ++at_;
    while (at_ < text_.size()) {
      const bool own = open_.size() == floor_;
      if (own && peek() == '}') {
        break;
      }
      if (own && peek() == ':') {
        push(Tok::kColon, at_, at_ + 1);
        ++at_;
        specification(quote);
        break;
      }
      if (own && peek() == '!' && peek(1) != '=') {
        push(Tok::kBang, at_, at_ + 1);
        ++at_;
        continue;
      }
      next();
    }
    if (failed() || peek() != '}' || open_.size() != floor_) {
      fail("f-string: expecting '}'", at_);
      return;
    }
    floor_ = outer;
    open_.pop_back();
    open_at_.pop_back();
    push(Tok::kRightBrace, at_, at_ + 1);
    ++at_;
  }

  void specification(const Quote& quote) {
    while (!failed() && at_ < text_.size()) {
      literal(quote, true);
      if (peek() != '{' || closes(quote)) {
        return;
      }
      field(quote);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Tokens tokens_{};
  bool line_ended_ = true;
  std::vector<Indent> indents_{Indent{}};
  std::string open_{};  // The brackets around the current place, and where they are.
  std::vector<std::size_t> open_at_{};
  std::size_t floor_ = 0;  // How many of these the field of a format may not close.
  int formats_ = 0;
};

}  // namespace

std::string with_plain_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) {
    text.remove_prefix(3);
  }
  std::string plain(text);
  if (!plain.contains('\r')) {
    return plain;
  }
  std::size_t to = 0;
  for (std::size_t from = 0; from < plain.size(); ++from) {
    if (plain[from] == '\r') {
      from += from + 1 < plain.size() && plain[from + 1] == '\n' ? 1 : 0;
      plain[to++] = '\n';
    } else {
      plain[to++] = plain[from];
    }
  }
  plain.resize(to);
  return plain;
}

std::string strange_encoding(std::string_view text) {
  constexpr std::array<std::string_view, 12> kPlain = {
      "utf-8",  "utf8",       "utf-8-sig", "ascii",       "us-ascii", "latin-1",
      "latin1", "iso-8859-1", "iso8859-1", "iso-8859-15", "cp1252",   "utf-8-unix"};
  for (int line = 0; line < 2; ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view comment = text.substr(0, end);
    comment.remove_prefix(std::min(comment.find_first_not_of(" \t\f"), comment.size()));
    if (!comment.empty() && comment.front() != '#') {
      return {};
    }
    for (std::size_t at = comment.find("coding"); at != std::string_view::npos;
         at = comment.find("coding", at + 1)) {
      std::string_view rest = comment.substr(at + 6);
      if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) {
        continue;
      }
      rest.remove_prefix(1);
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
      std::string name;
      for (const char c : rest) {
        if (!in_name(c) && c != '-' && c != '.') {
          break;
        }
        name += c == '_' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
      }
      if (!name.empty()) {
        return std::ranges::find(kPlain, name) != kPlain.end() ? "" : name;
      }
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

Tokens tokens_of(std::string_view text) { return Lexer(text).run(); }

}  // namespace glovebox::analyser
