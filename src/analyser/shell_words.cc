// SPDX-License-Identifier: Apache-2.0
// The words of a shell script: quotes, escapes, variables, substitutions.
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "analyser/python_literals.h"
#include "analyser/shell_reader.h"
#include "base/utf8.h"

namespace glovebox::analyser {
namespace {

constexpr std::string_view kUnknown = "$(…)";
constexpr std::size_t kMostFields = 64;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

std::string_view name_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_name(text[length])) {
    ++length;
  }
  return length > 0 && text[0] >= '0' && text[0] <= '9' ? std::string_view{}
                                                        : text.substr(0, length);
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

int digit_of(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : 99;
}

// The number at the beginning of a text, of at most `most` digits; returns how many it has.
std::size_t number_at(std::string_view text, int base, std::size_t most, char32_t& number) {
  std::size_t length = 0;
  number = 0;
  while (length < std::min(most, text.size()) && digit_of(text[length]) < base) {
    number = number * static_cast<char32_t>(base) + static_cast<char32_t>(digit_of(text[length]));
    ++length;
  }
  return length;
}

}  // namespace

Words braces(const std::string& word) {
  for (std::size_t close = word.find('}'); close != std::string::npos;
       close = word.find('}', close + 1)) {
    const std::size_t open = word.rfind('{', close);
    const std::string_view inner = open == std::string::npos
                                       ? std::string_view{}
                                       : std::string_view(word).substr(open + 1, close - open - 1);
    if (inner.find('}') != std::string_view::npos || inner.find(',') == std::string_view::npos) {
      continue;
    }
    Words fields;
    std::string_view rest = inner;
    for (std::size_t count = 0; count < kMostFields; ++count) {
      const std::size_t comma = rest.find(',');
      for (std::string& field : braces(word.substr(0, open) + std::string(rest.substr(0, comma)) +
                                       word.substr(close + 1))) {
        if (fields.size() < kMostFields) {
          fields.push_back(std::move(field));
        }
      }
      if (comma == std::string_view::npos || fields.size() >= kMostFields) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
    return fields;
  }
  return {word};
}

std::optional<std::string> said_by(Words words) {
  bool escapes = false;
  std::string text;
  if (base_name(words[0]) == "echo") {
    std::size_t first = 1;
    for (; first < words.size(); ++first) {
      const std::string& word = words[first];
      if (word.size() < 2 || word[0] != '-' ||
          word.find_first_not_of("neE", 1) != std::string::npos) {
        break;
      }
      escapes = escapes || word.find('e') != std::string::npos;
    }
    for (std::size_t i = first; i < words.size(); ++i) {
      text += (i > first ? " " : "") + words[i];
    }
  } else if (base_name(words[0]) == "printf" && words.size() > 1) {
    text = words[1];
    escapes = true;
    for (std::size_t i = 2; i < words.size(); ++i) {
      for (const std::string_view place : {"%s", "%b"}) {
        if (const std::size_t at = text.find(place); at != std::string::npos) {
          text.replace(at, place.size(), words[i]);
        }
      }
    }
  } else {
    return std::nullopt;
  }
  if (!escapes) {
    return text;
  }
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i + 1);
    char32_t code = 0;
    if (text[i] != '\\' || rest.empty()) {
      out += text[i];
    } else if (rest[0] == 'n' || rest[0] == 't' || rest[0] == '\\') {
      out += rest[0] == 'n' ? '\n' : rest[0] == 't' ? '\t' : '\\';
      ++i;
    } else if (const std::size_t hex = rest[0] == 'x' ? number_at(rest.substr(1), 16, 2, code) : 0;
               hex > 0) {
      append_utf8(out, code);
      i += 1 + hex;
    } else if (const std::size_t octal = number_at(rest, 8, rest[0] == '0' ? 4 : 3, code);
               octal > 0) {
      append_utf8(out, code & 0xFFU);
      i += octal;
    } else {
      out += '\\';
    }
  }
  return out;
}

std::string said_by_script(std::string_view script) {
  if (script.find_first_of("|;&<>`$\n") != std::string_view::npos) {
    return std::string(kUnknown);
  }
  Words words;
  for (std::size_t at = 0; at < script.size();) {
    const char c = script[at];
    if (is_blank(c) || c == '\r') {
      ++at;
      continue;
    }
    std::size_t end = c == '\'' || c == '"' ? script.find(c, at + 1) : std::string_view::npos;
    end = end != std::string_view::npos
              ? end + 1
              : std::min(script.find_first_of(" \t\n\r", at), script.size());
    std::string_view word = script.substr(at, end - at);
    at = end;
    word.remove_prefix(std::min(word.find_first_not_of("'\""), word.size()));
    word.remove_suffix(word.size() - (word.find_last_not_of("'\"") + 1));
    words.emplace_back(word);
  }
  auto text = words.empty() ? std::nullopt : said_by(words);
  if (!text) {
    return std::string(kUnknown);
  }
  text->resize(text->find_last_not_of('\n') + 1);
  return *text;
}

std::string ShellReader::value_of(std::string_view name) const {
  const auto known = variables_.find(name);
  return known != variables_.end() ? known->second : "$" + std::string(name);
}

// The offset after the parenthesis that closes the one before `start`.
std::size_t ShellReader::closing(std::size_t start) {
  int depth = 1;
  char quote = '\0';
  for (std::size_t at = start; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return at + 1;
    }
  }
  fail("a parenthesis is never closed", start);
  return text_.size();
}

// What follows a dollar sign, as text.
std::string ShellReader::dollar() {
  const std::size_t start = at_;
  if (peek(1) == '(' && peek(2) == '(') {
    at_ = closing(start + 2);
    return "$((";
  }
  if (peek(1) == '(') {
    at_ = closing(start + 2);
    if (ends() && !state_.problem.empty()) {
      return {};
    }
    const std::string inner = text_.substr(start + 2, at_ - start - 3);
    nested(inner, start);
    return said_by_script(inner);
  }
  if (peek(1) == '{') {
    return expansion();
  }
  if (const std::string_view name = name_at(rest().substr(1)); !name.empty()) {
    at_ += 1 + name.size();
    return value_of(name);
  }
  const char sign = peek(1);
  if (sign != '\0' && std::string_view("0123456789@*#?$!-").find(sign) != std::string_view::npos) {
    at_ += 2;
    return std::string("$") + sign;
  }
  ++at_;
  return "$";
}

// "${name:-otherwise}"
std::string ShellReader::expansion() {
  const std::size_t start = at_;
  const std::size_t end = text_.find('}', start);
  if (end == std::string::npos) {
    fail("a '${' is never closed", start);
    return {};
  }
  at_ = end + 1;
  const std::string inner = text_.substr(start + 2, end - start - 2);
  if (inner.find("$(") != std::string::npos || inner.find('`') != std::string::npos) {
    const std::size_t dash = inner.find('-');
    nested("echo " + (dash == std::string::npos ? "" : inner.substr(dash + 1)), start);
  }
  const std::string_view name = name_at(inner);
  if (name.empty()) {
    return "$" + inner;
  }
  std::string_view operation = std::string_view(inner).substr(name.size());
  const auto known = variables_.find(name);
  const bool colon = operation.starts_with(':');
  const std::string_view behind = operation.substr(colon ? 1 : 0);
  if ((behind.starts_with('-') || behind.starts_with('=')) && known == variables_.end()) {
    operation.remove_prefix(std::min(operation.find_first_not_of(':'), operation.size()));
    operation.remove_prefix(std::min(operation.find_first_not_of("-="), operation.size()));
    return std::string(operation);
  }
  if (colon && known != variables_.end()) {
    // "${name:first:length}"
    char32_t first = 0;
    char32_t length = 0;
    std::string_view digits = behind;
    const std::size_t count = number_at(digits, 10, 7, first);
    digits.remove_prefix(count);
    const bool limited = digits.starts_with(':');
    const std::size_t more = limited ? number_at(digits.substr(1), 10, 7, length) : 0;
    if (count > 0 && (limited ? more > 0 && more + 1 == digits.size() : digits.empty())) {
      const std::u32string value = code_points(known->second);
      std::string part;
      for (std::size_t i = first; i < value.size() && (!limited || i < first + length); ++i) {
        append_utf8(part, value[i]);
      }
      return part;
    }
  }
  return value_of(name);
}

// $'…'
std::string ShellReader::ansi_quoted() {
  constexpr std::string_view kLetters = "ntrabefv\\'\"";
  constexpr std::string_view kMeanings = "\n\t\r\a\b\x1b\f\v\\'\"";
  std::string out;
  const std::size_t start = at_;
  at_ += 2;
  while (at_ < text_.size() && text_[at_] != '\'') {
    if (text_[at_] != '\\') {
      out += text_[at_++];
      continue;
    }
    const std::string_view escape = rest().substr(1);
    char32_t code = 0;
    std::size_t digits = 0;
    std::size_t letters = 1;
    if (escape.starts_with('x')) {
      digits = number_at(escape.substr(1), 16, 2, code);
    } else if (escape.starts_with('u')) {
      digits = number_at(escape.substr(1), 16, 4, code);
    } else if (escape.starts_with('U')) {
      digits = number_at(escape.substr(1), 16, 8, code);
    } else {
      digits = number_at(escape, 8, 3, code);
      code &= 0xFFU;
      letters = 0;
    }
    if (digits > 0) {
      append_utf8(out, code > 0x10FFFF ? 0xFFFD : code);
      at_ += 1 + letters + digits;
      continue;
    }
    const std::size_t known =
        escape.empty() ? std::string_view::npos : kLetters.find(escape.front());
    if (known != std::string_view::npos) {
      out += kMeanings[known];
    } else {
      out += '\\';
      out += escape.substr(0, 1);
    }
    at_ += 2;
  }
  if (at_ >= text_.size()) {
    fail("a quote is never closed", start);
    return out;
  }
  ++at_;
  return out;
}

std::string ShellReader::double_quoted() {
  std::string out;
  const std::size_t start = at_++;
  while (!ends()) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return out;
    }
    const char escaped = c == '\\' ? peek(1) : '\0';
    if (escaped != '\0' && std::string_view("$`\"\\\n").find(escaped) != std::string_view::npos) {
      out += escaped == '\n' ? "" : std::string(1, escaped);
      at_ += 2;
    } else if (c == '$') {
      out += dollar();
    } else if (c == '`') {
      out += backquoted();
    } else {
      out += c;
      ++at_;
    }
  }
  fail("a quote is never closed", start);
  return out;
}

std::string ShellReader::backquoted() {
  const std::size_t start = at_;
  const std::size_t end = text_.find('`', start + 1);
  if (end == std::string::npos) {
    fail("a backquote is never closed", start);
    return {};
  }
  at_ = end + 1;
  const std::string inner = text_.substr(start + 1, end - start - 1);
  nested(inner, start);
  return said_by_script(inner);
}

// The fields that one word becomes.
Words ShellReader::word() {
  Words fields;
  std::string out;
  bool quoted = false;
  const std::size_t start = at_;
  while (!ends()) {
    const char c = text_[at_];
    if (out.size() > kMostVariable) {
      fail("a word becomes too long to follow", start);
    } else if (c == '\\') {
      if (peek(1) != '\n') {
        out += rest().substr(1, 1);
      }
      at_ += 2;
    } else if (c == '\'') {
      const std::size_t end = text_.find('\'', at_ + 1);
      if (end == std::string::npos) {
        fail("a quote is never closed", at_);
        break;
      }
      out += text_.substr(at_ + 1, end - at_ - 1);
      quoted = true;
      at_ = end + 1;
    } else if (c == '"') {
      out += double_quoted();
      quoted = true;
    } else if (c == '$' && peek(1) == '\'') {
      out += ansi_quoted();
      quoted = true;
    } else if (c == '$' && peek(1) == '"') {
      ++at_;
    } else if (c == '$' || c == '`') {
      for (const char each : c == '$' ? dollar() : backquoted()) {
        if (!is_blank(each)) {
          out += each;
        } else if (!out.empty()) {
          fields.push_back(std::exchange(out, {}));
        }
      }
    } else if ((c == '<' || c == '>') && peek(1) == '(') {
      const std::size_t begin = at_;
      at_ = closing(at_ + 2);
      if (!state_.problem.empty()) {
        break;
      }
      const std::string inner = text_.substr(begin + 2, at_ - begin - 3);
      nested(inner, begin);
      out += "<(" + inner + ")";
    } else if (std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos) {
      break;
    } else {
      out += c;
      ++at_;
    }
  }
  if (!out.empty() || quoted || fields.empty()) {
    fields.push_back(out);
  }
  const std::string_view written = std::string_view(text_).substr(
      start, std::min(at_, text_.size()) - std::min(start, text_.size()));
  if (!quoted && written.find('{') != std::string_view::npos) {
    Words pieces;
    for (const std::string& field : fields) {
      for (std::string& piece : braces(field)) {
        pieces.push_back(std::move(piece));
      }
    }
    return pieces;
  }
  return fields;
}

}  // namespace glovebox::analyser
