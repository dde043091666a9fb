// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/highlight.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "context/notebook/markup.h"
#include "context/notebook/syntax.h"

namespace glovebox::notebook {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes beyond ASCII belong to names: most languages allow letters of any script.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool contains(std::span<const std::string_view> sorted, std::string_view word) {
  return std::ranges::binary_search(sorted, word);
}

class Highlighter {
 public:
  Highlighter(std::string_view code, const Syntax& syntax) : code_(code), syntax_(syntax) {}

  std::string run() {
    html_.reserve(code_.size() * 2);
    while (at_ < code_.size()) {
      step();
    }
    flush();
    return std::move(html_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < code_.size() ? code_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool looking_at(std::string_view mark) const {
    return !mark.empty() && code_.substr(at_).starts_with(mark);
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      ++at_;
      fresh_line_ = true;
      return;
    }
    if (c == ' ' || c == '\t') {
      ++at_;
      return;
    }
    if (!syntax_.block_comment.empty() && starts_block_comment()) {
      return;
    }
    if (starts_line_comment() || starts_special_line() || starts_string(at_)) {
      fresh_line_ = false;
      return;
    }
    fresh_line_ = false;
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (begins_name(c) || (syntax_.dots_in_names && c == '.')) {
      name();
    } else if (syntax_.decorators && c == '@' && begins_name(peek(1))) {
      mark("d", name_end(at_ + 1));
    } else if (syntax_.variables && c == '$') {
      variable();
    } else {
      ++at_;
    }
  }

  bool starts_block_comment() {
    const std::size_t blank = syntax_.block_comment.find(' ');
    if (!looking_at(syntax_.block_comment.substr(0, blank))) {
      return false;
    }
    const std::string_view closing = syntax_.block_comment.substr(blank + 1);
    const std::size_t end = code_.find(closing, at_ + blank);
    mark("c", end == std::string_view::npos ? code_.size() : end + closing.size());
    return true;
  }

  bool starts_line_comment() {
    if (!looking_at(syntax_.line_comment)) {
      return false;
    }
    // In a shell "#" within a word is a part of it: ${#list}, a#b.
    if (syntax_.variables && at_ > 0 && code_[at_ - 1] != ' ' && code_[at_ - 1] != '\t' &&
        code_[at_ - 1] != '\n' && code_[at_ - 1] != ';') {
      return false;
    }
    mark("c", line_end());
    return true;
  }

  bool starts_special_line() {
    if (!fresh_line_) {
      return false;
    }
    const char c = peek();
    if (syntax_.magics && (c == '%' || c == '!' || c == '?')) {
      mark("d", line_end());
      return true;
    }
    if (syntax_.preprocessor && c == '#') {
      mark("d", std::min(code_.find_first_of(" \t\n", at_), code_.size()));
      return true;
    }
    return false;
  }

  // Whether a string begins at `quote_at`; the bytes before it are its prefix.
  bool starts_string(std::size_t quote_at) {
    const char quote = quote_at < code_.size() ? code_[quote_at] : '\0';
    if (quote == '\0' || syntax_.quotes.find(quote) == std::string_view::npos) {
      return false;
    }
    const bool triple = syntax_.triple_quotes && code_.size() - quote_at >= 3 &&
                        code_[quote_at + 1] == quote && code_[quote_at + 2] == quote;
    const std::size_t quotes = triple ? 3 : 1;
    const bool spans_lines = triple || syntax_.long_quotes.find(quote) != std::string_view::npos;
    std::size_t end = quote_at + quotes;
    while (end < code_.size()) {
      const char c = code_[end];
      if (c == '\\' && syntax_.escapes) {
        end += 2;
      } else if (c == '\n' && !spans_lines) {
        break;
      } else if (c == quote && (!triple || (code_.size() - end >= 3 && code_[end + 1] == quote &&
                                            code_[end + 2] == quote))) {
        end += quotes;
        break;
      } else {
        ++end;
      }
    }
    mark("s", std::min(end, code_.size()));
    return true;
  }

  void number() {
    std::size_t end = at_;
    while (end < code_.size()) {
      const char c = code_[end];
      const char before = end > at_ ? code_[end - 1] : '\0';
      // In 0x1e+2 the sign is an operator.
      const bool is_exponent_sign = (c == '+' || c == '-') && (before == 'e' || before == 'E') &&
                                    peek(1) != 'x' && peek(1) != 'X';
      if (!is_digit(c) && !begins_name(c) && c != '.' && !is_exponent_sign) {
        break;
      }
      ++end;
    }
    mark("n", end);
  }

  [[nodiscard]] std::size_t name_end(std::size_t from) const {
    while (from < code_.size() && (begins_name(code_[from]) || is_digit(code_[from]) ||
                                   (syntax_.dots_in_names && code_[from] == '.'))) {
      ++from;
    }
    return from;
  }

  void name() {
    const std::size_t end = name_end(at_);
    const std::string_view word = code_.substr(at_, end - at_);
    // f"…", r'…': the prefix belongs to the string.
    if (syntax_.triple_quotes && word.size() <= 2 && end < code_.size() && starts_string(end)) {
      return;
    }
    constexpr std::size_t kLongest = 24;
    std::string key(word.substr(0, kLongest));
    if (syntax_.ignores_case) {
      std::ranges::transform(key, key.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
    }
    const bool is_member = at_ > 0 && code_[at_ - 1] == '.';
    if (!is_member && contains(syntax_.keywords, key)) {
      mark("k", end);
    } else if (!is_member && contains(syntax_.constants, key)) {
      mark("l", end);
    } else if (end < code_.size() && code_[end] == '(') {
      mark("m", end);
    } else {
      at_ = end;
    }
  }

  void variable() {
    std::size_t end = at_ + 1;
    if (peek(1) == '{') {
      const std::size_t close = code_.find_first_of("}\n", at_);
      end =
          close == std::string_view::npos ? code_.size() : close + (code_[close] == '}' ? 1U : 0U);
    } else if (begins_name(peek(1))) {
      end = name_end(at_ + 1);
    } else if (peek(1) > ' ' && peek(1) != '(' && peek(1) != '"' && peek(1) != '\'') {
      end = at_ + 2;
    }
    mark("l", std::min(end, code_.size()));
  }

  [[nodiscard]] std::size_t line_end() const {
    return std::min(code_.find('\n', at_), code_.size());
  }

  // Writes the bytes since the last mark as they are, then those up to `end` marked as `kind`.
  void mark(const char* kind, std::size_t end) {
    flush();
    html_ += "<span class=\"";
    html_ += kind;
    html_ += "\">";
    append_escaped(html_, code_.substr(at_, end - at_));
    html_ += "</span>";
    at_ = end;
    flushed_ = end;
  }

  void flush() {
    append_escaped(html_, code_.substr(flushed_, at_ - flushed_));
    flushed_ = at_;
  }

  std::string_view code_;
  const Syntax& syntax_;
  std::string html_;
  std::size_t at_ = 0;
  std::size_t flushed_ = 0;
  bool fresh_line_ = true;  // Only blanks stand before the current byte on its line.
};

}  // namespace

std::string highlight(std::string_view code, std::string_view language) {
  const Syntax* const syntax = find_syntax(language);
  return syntax == nullptr ? escaped(code) : Highlighter(code, *syntax).run();
}

}  // namespace glovebox::notebook
