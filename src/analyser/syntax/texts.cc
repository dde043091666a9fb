// SPDX-License-Identifier: Apache-2.0
#include "analyser/syntax/texts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

#include "base/utf8.h"

namespace glovebox::analyser::syntax {
namespace {

std::uint32_t number_of(std::string_view digits, int base) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

}  // namespace

std::string unescaped(std::string_view sequence) {
  constexpr std::string_view kLetters = "abefnrtv0";
  constexpr std::string_view kMeant = {"\a\b\x1b\f\n\r\t\v\0", 9};
  if (sequence.size() < 2 || sequence.front() != '\\') {
    return std::string(sequence);
  }
  const char kind = sequence[1];
  std::string_view digits = sequence.substr(2);
  if (digits.starts_with('{') && digits.ends_with('}')) {
    digits = digits.substr(1, digits.size() - 2);
  }
  std::string text;
  if (kind == 'x' || kind == 'u' || kind == 'U') {
    append_utf8(text, number_of(digits, 16));
  } else if (kind >= '0' && kind <= '7' && sequence.size() > 2) {
    append_utf8(text, number_of(sequence.substr(1), 8));
  } else if (const std::size_t at = kLetters.find(kind); at != std::string_view::npos) {
    text += kMeant[at];
  } else if (kind != '\n' && kind != '\r') {
    text += sequence.substr(1);
  }
  return text;
}

std::string_view without_quotes(std::string_view literal) {
  const std::size_t quote = literal.find_first_of("\"'`");
  if (quote == std::string_view::npos) {
    return literal.starts_with(':') ? literal.substr(1) : literal;
  }
  const char mark = literal[quote];
  literal.remove_prefix(quote);
  while (literal.size() > 1 && literal.front() == mark && literal.back() == mark) {
    literal = literal.substr(1, literal.size() - 2);
  }
  return literal;
}

double number_in(std::string_view literal) {
  std::string digits;
  std::ranges::copy_if(literal, std::back_inserter(digits),
                       [](char c) { return c != '_' && c != '\''; });
  const bool hexadecimal = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x';
  const std::string_view rest = std::string_view(digits).substr(hexadecimal ? 2 : 0);
  std::int64_t whole = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), whole, hexadecimal ? 16 : 10);
  return static_cast<double>(whole);
}

std::string reversed(std::string_view text) { return {text.rbegin(), text.rend()}; }

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos
             ? std::string()
             : std::string(text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin));
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

}  // namespace glovebox::analyser::syntax
