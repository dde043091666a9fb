// SPDX-License-Identifier: Apache-2.0
#include "analyser/sql_tokens.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace glovebox::analyser {
namespace {

using Kind = SqlToken::Kind;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
// SQLite takes every byte of a character that is not ASCII as a letter.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_in_word(char c) { return is_letter(c) || is_digit(c) || c == '$'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  SqlTokens read() {
    while (at_ < text_.size() && found_.failure.empty()) {
      read_one();
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool begins_line() const { return at_ == 0 || text_[at_ - 1] == '\n'; }
  [[nodiscard]] std::size_t end_of_line() const {
    return std::min(text_.find('\n', at_), text_.size());
  }

  void add(Kind kind, std::string text, std::size_t from) {
    found_.tokens.push_back({.kind = kind, .text = std::move(text), .at = from});
  }

  void read_one() {
    const char c = text_[at_];
    if (c == '.' && begins_line()) {
      // The shell has its commands only between statements. A statement that continues with such a
      // line is rare, and costs no more than one finding too many.
      const std::size_t end = end_of_line();
      add(Kind::kCommand, std::string(text_.substr(at_, end - at_)), at_);
      at_ = end;
    } else if (is_space(c)) {
      ++at_;
    } else if ((c == '-' && peek(1) == '-') || (c == '#' && begins_line())) {
      at_ = end_of_line();
    } else if (c == '/' && peek(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      found_.failure = end == text_.npos ? "a comment does not end" : "";
      at_ = end == text_.npos ? text_.size() : end + 2;
    } else if (c == '\'') {
      read_quoted(Kind::kText, at_, '\'');
    } else if ((c == 'x' || c == 'X') && peek(1) == '\'') {
      const std::size_t from = at_++;
      read_quoted(Kind::kBlob, from, '\'');
    } else if (c == '"' || c == '`') {
      read_quoted(Kind::kName, at_, c);
    } else if (c == '[') {
      read_quoted(Kind::kName, at_, ']');
    } else if (is_letter(c)) {
      read_word(Kind::kName);
    } else if (is_digit(c)) {
      read_word(Kind::kNumber);
    } else {
      const bool joins = c == '|' && peek(1) == '|';
      add(Kind::kMark, joins ? "||" : std::string(1, c), at_);
      at_ += joins ? 2 : 1;
    }
  }

  void read_word(Kind kind) {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_in_word(text_[at_])) {
      ++at_;
    }
    add(kind, lower_case(text_.substr(from, at_ - from)), from);
  }

  // From a quote on. A quote inside is written twice, except within brackets.
  void read_quoted(Kind kind, std::size_t from, char end) {
    std::string inner;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] != end) {
        inner += text_[at_];
      } else if (end != ']' && peek(1) == end) {
        inner += text_[at_++];
      } else {
        ++at_;
        add(kind, kind == Kind::kName ? lower_case(inner) : std::move(inner), from);
        return;
      }
    }
    found_.failure = "a text in quotes does not end";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SqlTokens found_;
};

// Backslashes as the shell reads them: letters for control characters, and up to three octal
// digits.
std::string without_backslashes(std::string_view word) {
  constexpr std::string_view kLetters = "abtnvfr";
  constexpr std::string_view kBytes = "\a\b\t\n\v\f\r";
  std::string plain;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\' || i + 1 == word.size()) {
      plain += word[i];
      continue;
    }
    const char next = word[++i];
    if (const std::size_t letter = kLetters.find(next); letter != kLetters.npos) {
      plain += kBytes[letter];
    } else if (is_octal(next)) {
      unsigned byte = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits < word.size() && is_octal(word[i + digits]); ++digits) {
        byte = byte * 8 + static_cast<unsigned>(word[i + digits] - '0');
      }
      i += digits - 1;
      plain += static_cast<char>(byte & 0xffU);
    } else {
      plain += next;
    }
  }
  return plain;
}

}  // namespace

SqlTokens sql_tokens(std::string_view text) { return Reader(text).read(); }

std::vector<std::string> sql_command_words(std::string_view line) {
  std::vector<std::string> words;
  std::size_t at = 1;  // After the dot.
  while (at < line.size()) {
    if (is_space(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    if (line[at] == '\'' || line[at] == '"') {
      const char quote = line[at++];
      for (end = at; end < line.size() && line[end] != quote; ++end) {
        end += quote == '"' && line[end] == '\\' && end + 1 < line.size() ? 1 : 0;
      }
      const std::string_view word = line.substr(at, end - at);
      words.push_back(quote == '"' ? without_backslashes(word) : std::string(word));
      ++end;
    } else {
      while (end < line.size() && !is_space(line[end])) {
        ++end;
      }
      words.push_back(without_backslashes(line.substr(at, end - at)));
    }
    at = end;
  }
  return words;
}

}  // namespace glovebox::analyser
