// SPDX-License-Identifier: Apache-2.0
#include "analyser/python_literals.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/utf8.h"

namespace glovebox::analyser {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

int digit_of(char c) {
  const int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return digit;
}

std::optional<Value> integer(std::string_view digits, int base) {
  Value value{.kind = Value::Kind::kInt};
  for (const char c : digits) {
    const int digit = digit_of(c);
    if (digit >= base) {
      return std::nullopt;
    }
    if (__builtin_mul_overflow(value.number, base, &value.number) ||
        __builtin_add_overflow(value.number, digit, &value.number)) {
      return Value{.kind = Value::Kind::kInt,
                   .large = true,
                   .number = std::numeric_limits<std::int64_t>::max()};
    }
  }
  return digits.empty() ? std::nullopt : std::optional(value);
}

// The ASCII characters that are not letters and digits, by their names in Unicode.
constexpr std::array kNamed = std::to_array<std::pair<std::string_view, char>>({
    {"AMPERSAND", '&'},
    {"APOSTROPHE", '\''},
    {"ASTERISK", '*'},
    {"CIRCUMFLEX ACCENT", '^'},
    {"COLON", ':'},
    {"COMMA", ','},
    {"COMMERCIAL AT", '@'},
    {"DOLLAR SIGN", '$'},
    {"EQUALS SIGN", '='},
    {"EXCLAMATION MARK", '!'},
    {"FULL STOP", '.'},
    {"GRAVE ACCENT", '`'},
    {"GREATER-THAN SIGN", '>'},
    {"HYPHEN-MINUS", '-'},
    {"LEFT CURLY BRACKET", '{'},
    {"LEFT PARENTHESIS", '('},
    {"LEFT SQUARE BRACKET", '['},
    {"LESS-THAN SIGN", '<'},
    {"LINE FEED", '\n'},
    {"LOW LINE", '_'},
    {"NUMBER SIGN", '#'},
    {"PERCENT SIGN", '%'},
    {"PLUS SIGN", '+'},
    {"QUESTION MARK", '?'},
    {"QUOTATION MARK", '"'},
    {"REVERSE SOLIDUS", '\\'},
    {"RIGHT CURLY BRACKET", '}'},
    {"RIGHT PARENTHESIS", ')'},
    {"RIGHT SQUARE BRACKET", ']'},
    {"SEMICOLON", ';'},
    {"SOLIDUS", '/'},
    {"SPACE", ' '},
    {"TILDE", '~'},
    {"VERTICAL LINE", '|'},
});

std::optional<char> named_character(std::string_view written) {
  std::string name(written);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  constexpr std::string_view kSmall = "LATIN SMALL LETTER ";
  constexpr std::string_view kCapital = "LATIN CAPITAL LETTER ";
  constexpr std::array<std::string_view, 10> kDigits = {
      "DIGIT ZERO", "DIGIT ONE", "DIGIT TWO",   "DIGIT THREE", "DIGIT FOUR",
      "DIGIT FIVE", "DIGIT SIX", "DIGIT SEVEN", "DIGIT EIGHT", "DIGIT NINE"};
  const auto letter = [&](std::string_view beginning) -> std::optional<char> {
    return name.starts_with(beginning) && name.size() == beginning.size() + 1 &&
                   name.back() >= 'A' && name.back() <= 'Z'
               ? std::optional(name.back())
               : std::nullopt;
  };
  if (const auto small = letter(kSmall)) {
    return static_cast<char>(*small | 0x20);
  }
  if (const auto capital = letter(kCapital)) {
    return capital;
  }
  if (const auto* const digit = std::ranges::find(kDigits, name); digit != kDigits.end()) {
    return static_cast<char>('0' + (digit - kDigits.begin()));
  }
  const auto* const known =
      std::ranges::lower_bound(kNamed, name, {}, &std::pair<std::string_view, char>::first);
  return known != kNamed.end() && known->first == name ? std::optional(known->second)
                                                       : std::nullopt;
}

// Reads one escape, whose backslash stands before `at`.
class Escapes {
 public:
  Escapes(std::string_view written, bool bytes) : written_(written), bytes_(bytes) {}

  Literal::End run(std::string& text) {
    while (at_ < written_.size() && end_ != Literal::End::kWrong) {
      const char c = written_[at_++];
      if (c == '\\' && at_ < written_.size()) {
        escape(text);
      } else {
        text += c;
      }
    }
    return end_;
  }

 private:
  void put(std::string& text, char32_t code) {
    if (bytes_) {
      text += static_cast<char>(code & 0xFF);
    } else {
      append_utf8(text, code);
    }
  }

  void escape(std::string& text) {
    constexpr std::string_view kLetters = "\\'\"abfnrtv";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char c = written_[at_++];
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      text += kMeanings[known];
    } else if (c == '\n') {
      return;
    } else if (c >= '0' && c <= '7') {
      char32_t code = static_cast<char32_t>(c - '0');
      for (int more = 0;
           more < 2 && at_ < written_.size() && written_[at_] >= '0' && written_[at_] <= '7';
           ++more) {
        code = code * 8 + static_cast<char32_t>(written_[at_++] - '0');
      }
      put(text, code);
    } else if (c == 'x') {
      digits(text, 2);
    } else if (c == 'u' && !bytes_) {
      digits(text, 4);
    } else if (c == 'U' && !bytes_) {
      digits(text, 8);
    } else if (c == 'N' && !bytes_) {
      named(text);
    } else {
      text += '\\';
      text += c;
    }
  }

  void digits(std::string& text, std::size_t count) {
    char32_t code = 0;
    for (; count > 0; --count, ++at_) {
      const int digit = at_ < written_.size() ? digit_of(written_[at_]) : 99;
      if (digit > 15) {
        end_ = Literal::End::kWrong;
        return;
      }
      code = code * 16 + static_cast<char32_t>(digit);
    }
    if (code > 0x10FFFF) {
      end_ = Literal::End::kWrong;
      return;
    }
    put(text, code);
  }

  void named(std::string& text) {
    const std::size_t close = written_.find('}', at_);
    if (at_ >= written_.size() || written_[at_] != '{' || close == std::string_view::npos) {
      end_ = Literal::End::kWrong;
      return;
    }
    const auto known = named_character(written_.substr(at_ + 1, close - at_ - 1));
    at_ = close + 1;
    if (known) {
      text += *known;
    } else {
      append_utf8(text, U'\uFFFD');
      end_ = Literal::End::kUnknown;
    }
  }

  std::string_view written_;
  bool bytes_;
  std::size_t at_ = 0;
  Literal::End end_ = Literal::End::kKnown;
};

}  // namespace

std::optional<Value> number_of(std::string_view written) {
  std::string digits;
  std::ranges::copy_if(written, std::back_inserter(digits), [](char c) { return c != '_'; });
  const char base = digits.size() > 1 ? static_cast<char>(digits[1] | 0x20) : '\0';
  if (digits.front() == '0' && (base == 'x' || base == 'o' || base == 'b')) {
    return integer(std::string_view(digits).substr(2), base == 'x' ? 16 : base == 'o' ? 8 : 2);
  }
  if ((digits.back() | 0x20) == 'j') {
    return Value{.kind = Value::Kind::kComplex};
  }
  if (digits.find_first_of(".eE") != std::string::npos) {
    return Value{.kind = Value::Kind::kFloat, .real = std::strtod(digits.c_str(), nullptr)};
  }
  if (digits.front() == '0' && digits.find_first_not_of('0') != std::string::npos) {
    return std::nullopt;  // "0755"
  }
  return integer(digits, 10);
}

Literal unescaped(std::string_view written, bool bytes, bool raw, Arena& arena) {
  if (bytes && !is_ascii(written)) {
    return {.end = Literal::End::kWrong};
  }
  if (raw || written.find('\\') == std::string_view::npos) {
    return {.text = written};
  }
  std::string text;
  const Literal::End end = Escapes(written, bytes).run(text);
  return {.end = end, .text = arena.keep(std::string_view(text))};
}

std::optional<std::string_view> normalized(std::string_view name, Arena& arena) {
  if (is_ascii(name)) {
    return name;
  }
  utf8proc_uint8_t* made = nullptr;
  const auto length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
      static_cast<utf8proc_ssize_t>(name.size()), &made,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT));
  if (length < 0) {
    return std::nullopt;
  }
  const std::string_view kept = arena.keep(
      std::string_view(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)));
  std::free(made);
  return kept;
}

std::u32string code_points(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = length_of_character(text[i]);
    char32_t code = length == 1 ? first : first & (0x7FU >> length);
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k) {
      code = code << 6U | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    }
    codes += code;
    i += length;
  }
  return codes;
}

}  // namespace glovebox::analyser
