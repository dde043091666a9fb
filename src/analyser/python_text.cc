// SPDX-License-Identifier: Apache-2.0
// The methods of texts and bytes, and what "%" does with them.
#include "analyser/python_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

#include "analyser/python_constants.h"
#include "analyser/python_literals.h"
#include "base/text.h"
#include "base/utf8.h"

namespace glovebox::analyser {
namespace {

using Found = Constants::Found;

bool is_blank(char32_t c, bool bytes) {
  if (c == ' ' || (c >= '\t' && c <= '\r')) {
    return true;
  }
  return !bytes && ((c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
                    (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
                    c == 0x205F || c == 0x3000);
}

bool is_lower(char32_t c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char32_t c) { return c >= 'A' && c <= 'Z'; }
char32_t lower(char32_t c) { return is_upper(c) ? c + 0x20 : c; }
char32_t upper(char32_t c) { return is_lower(c) ? c - 0x20 : c; }

// Whether changing its case replaces it by one character, whatever characters are around it.
bool has_simple_cases(char32_t c) {
  std::array<utf8proc_int32_t, 4> folded{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded.data(),
                                             folded.size(), UTF8PROC_CASEFOLD, &boundary);
  constexpr char32_t kSigma = 0x3A3;
  return count == 1 && c != kSigma;
}

std::string replaced_all(std::string_view text,
                         std::string_view old,
                         std::string_view fresh,
                         std::int64_t most) {
  std::string made;
  while (most != 0) {
    const std::size_t at = text.find(old);
    if (at == std::string_view::npos || made.size() > Constants::kMostText) {
      break;
    }
    made += text.substr(0, at);
    made += fresh;
    text.remove_prefix(at + old.size());
    --most;
  }
  return made + std::string(text);
}

std::optional<std::string> digits_of(std::int64_t number, char type) {
  if (type == 'd') {
    return std::to_string(number);
  }
  std::array<char, 72> room{};
  const int base = type == 'o' ? 8 : 16;
  const auto end = std::to_chars(room.begin(), room.end(), number, base);
  std::string text(room.data(), end.ptr);
  if (type == 'X') {
    std::ranges::transform(text, text.begin(), [](char c) {
      return is_lower(static_cast<unsigned char>(c)) ? static_cast<char>(c - 0x20) : c;
    });
  }
  return text;
}

// What an encoding is called, of those that are known here: "u" UTF-8, "a" ASCII, "l" Latin-1.
char encoding_of(const Value& name) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEncodings = {
      {{"utf-8", 'u'}, {"utf8", 'u'}, {"ascii", 'a'}, {"latin-1", 'l'}, {"latin1", 'l'}}};
  const auto* const known = std::ranges::find(kEncodings, name.is_text() ? name.text : "",
                                              &std::pair<std::string_view, char>::first);
  return known == kEncodings.end() ? '\0' : known->second;
}

}  // namespace

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::u32string codes_of(const Value& value) {
  if (value.is_text()) {
    return code_points(value.text);
  }
  std::u32string codes;
  for (const char c : value.text) {
    codes += static_cast<unsigned char>(c);
  }
  return codes;
}

std::string from_codes(std::u32string_view codes, bool bytes) {
  std::string text;
  for (const char32_t code : codes) {
    if (bytes) {
      text += static_cast<char>(code);
    } else {
      append_utf8(text, code);
    }
  }
  return text;
}

std::optional<std::string> shown(std::string_view text, bool bytes) {
  if (!bytes && !is_ascii(text)) {
    return std::nullopt;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  const char quote =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"'
                                                                                            : '\'';
  std::string out = bytes ? "b" : "";
  out += quote;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (code < 0x20 || code > 0x7E) {
      out += "\\x";
      out += kDigits[code >> 4U];
      out += kDigits[code & 15U];
    } else {
      out += c;
    }
  }
  return out + quote;
}

Found Constants::percent(std::string_view format, const Value& right) {
  if (format.find_first_of("*0123456789") != std::string_view::npos) {
    return {};
  }
  const Value* const only = &right;
  std::span<const Value* const> arguments =
      right.is_list() ? right.items : std::span<const Value* const>(&only, 1);
  std::string made;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      made += format[i];
      continue;
    }
    const char type = i + 1 < format.size() ? format[++i] : '\0';
    if (type == '%') {
      made += '%';
      continue;
    }
    if (arguments.empty()) {
      return {};
    }
    const Value& value = *arguments.front();
    arguments = arguments.subspan(1);
    const bool whole = value.is_int() && !value.large;
    std::optional<std::string> one;
    if (type == 's') {
      one = written(value);
    } else if (type == 'r' || type == 'a') {
      one = value.is_text() ? shown(value.text, false) : written(value);
    } else if (type == 'c' && value.is_text() && codes_of(value).size() == 1) {
      one = std::string(value.text);
    } else if (type == 'c' && whole && value.number >= 0 && value.number <= 0x10FFFF) {
      one = from_codes(std::u32string(1, static_cast<char32_t>(value.number)), false);
    } else if (whole && (type == 'd' || type == 'i' || type == 'u')) {
      one = digits_of(value.number, 'd');
    } else if (whole && (type == 'x' || type == 'X' || type == 'o')) {
      one = digits_of(value.number, type);
    }
    if (!one || made.size() > kMostText) {
      return {};
    }
    made += *one;
  }
  // What is left over is an error, unless it is no tuple; then a mapping would be none.
  return arguments.empty() ? text(made) : Found{};
}

// "{} {0} {!r}".format(…), without specifications and attributes.
Found Constants::formatted(std::string_view format, std::span<const Value* const> arguments) {
  if (format.find('{') != std::string_view::npos &&
      format.find_first_of(":.[") != std::string_view::npos) {
    return {};
  }
  std::string made;
  std::size_t next = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if (c != '{' && c != '}') {
      made += c;
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == c) {
      made += c;
      ++i;
      continue;
    }
    const std::size_t close = format.find('}', i);
    if (c == '}' || close == std::string_view::npos) {
      return {};
    }
    std::string_view field = format.substr(i + 1, close - i - 1);
    i = close;
    const bool quoted = field.ends_with("!r") || field.ends_with("!a");
    field.remove_suffix(quoted || field.ends_with("!s") ? 2 : 0);
    std::size_t index = next;
    if (field.empty()) {
      ++next;
    } else if (std::from_chars(field.data(), field.data() + field.size(), index).ptr !=
               field.data() + field.size()) {
      return {};
    }
    if (index >= arguments.size() || made.size() > kMostText) {
      return {};
    }
    const Value& value = *arguments[index];
    const auto one = quoted && value.is_text() ? shown(value.text, false) : written(value);
    if (!one) {
      return {};
    }
    made += *one;
  }
  return text(made);
}

Found Constants::replaced(const Value& value, std::span<const Value* const> arguments) {
  if (arguments.size() < 2 || arguments.size() > 3 || arguments[0]->kind != value.kind ||
      arguments[1]->kind != value.kind) {
    return {};
  }
  std::int64_t most = -1;
  if (arguments.size() == 3) {
    if (!arguments[2]->is_int()) {
      return {};
    }
    most = arguments[2]->number;
  }
  const std::string_view fresh = arguments[1]->text;
  if (!arguments[0]->text.empty()) {
    return same(value, replaced_all(value.text, arguments[0]->text, fresh, most));
  }
  // The empty text is before each character and at the end.
  const std::u32string codes = codes_of(value);
  std::string made;
  for (std::size_t i = 0; i <= codes.size(); ++i) {
    made += most != 0 ? fresh : "";
    most -= most > 0 ? 1 : 0;
    made += i < codes.size() ? from_codes({&codes[i], 1}, value.is_bytes()) : "";
    if (made.size() > kMostText) {
      return {};
    }
  }
  return same(value, made);
}

Found Constants::stripped(const Value& value,
                          std::string_view name,
                          std::span<const Value* const> arguments) {
  const bool has_set = !arguments.empty() && arguments[0]->kind != Value::Kind::kNone;
  if (arguments.size() > 1 || (has_set && arguments[0]->kind != value.kind)) {
    return {};
  }
  const std::u32string set = has_set ? codes_of(*arguments[0]) : std::u32string{};
  const auto goes = [&](char32_t c) {
    return has_set ? set.find(c) != std::u32string::npos : is_blank(c, value.is_bytes());
  };
  const std::u32string codes = codes_of(value);
  std::u32string_view rest = codes;
  while (name != "rstrip" && !rest.empty() && goes(rest.front())) {
    rest.remove_prefix(1);
  }
  while (name != "lstrip" && !rest.empty() && goes(rest.back())) {
    rest.remove_suffix(1);
  }
  return same(value, from_codes(rest, value.is_bytes()));
}

Found Constants::split(const Value& value, std::span<const Value* const> arguments) {
  const bool blanks = arguments.empty() || arguments[0]->kind == Value::Kind::kNone;
  if (arguments.size() > 2 || (arguments.size() == 2 && !arguments[1]->is_int()) ||
      (!blanks && (arguments[0]->kind != value.kind || arguments[0]->text.empty()))) {
    return {};
  }
  std::int64_t most = arguments.size() == 2 ? arguments[1]->number : -1;
  std::vector<const Value*> pieces;
  const auto add = [&](std::string_view piece) {
    pieces.push_back(arena_.make(Value{.kind = value.kind, .text = arena_.keep(piece)}));
  };
  if (!blanks) {
    std::string_view rest = value.text;
    for (; most != 0 && pieces.size() <= kMostItems; --most) {
      const std::size_t at = rest.find(arguments[0]->text);
      if (at == std::string_view::npos) {
        break;
      }
      add(rest.substr(0, at));
      rest.remove_prefix(at + arguments[0]->text.size());
    }
    add(rest);
    return list(pieces);
  }
  const std::u32string codes = codes_of(value);
  const bool bytes = value.is_bytes();
  const auto blank = [&](char32_t c) { return is_blank(c, bytes); };
  auto at = codes.begin();
  while (pieces.size() <= kMostItems) {
    at = std::find_if_not(at, codes.end(), blank);
    if (at == codes.end()) {
      break;
    }
    const auto end = most == 0 ? codes.end() : std::find_if(at, codes.end(), blank);
    std::u32string piece(at, end);
    while (most == 0 && blank(piece.back())) {
      piece.pop_back();
    }
    add(from_codes(piece, bytes));
    at = end;
    --most;
  }
  return list(pieces);
}

Found Constants::joined(const Value& separator, const Value& parts) {
  const auto all = items(parts, kMostItems);
  if (!all) {
    return {};
  }
  std::string made;
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Value& part = *(*all)[i];
    if (part.kind != separator.kind || made.size() > kMostText) {
      return {};
    }
    made += i == 0 ? "" : separator.text;
    made += part.text;
  }
  return same(separator, made);
}

Found Constants::cased(const Value& value, std::string_view name) {
  std::u32string codes = codes_of(value);
  bool inside = false;  // A word.
  for (char32_t& c : codes) {
    const bool other = !value.is_bytes() && c >= 0x80;
    if (other && !has_simple_cases(c)) {
      return {};
    }
    const auto big = [&] {
      return other ? static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)))
                   : upper(c);
    };
    const auto small = [&] {
      return other ? static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)))
                   : lower(c);
    };
    const char32_t before = c;
    if (name == "lower") {
      c = small();
    } else if (name == "upper") {
      c = big();
    } else if (name == "swapcase") {
      c = big() == c ? small() : big();
    } else {
      c = inside ? small() : big();
    }
    const bool letter =
        is_lower(lower(before)) || (other && (big() != before || small() != before));
    inside = name == "capitalize" || letter;
  }
  return same(value, from_codes(codes, value.is_bytes()));
}

Found Constants::encoded(const Value& value,
                         std::string_view name,
                         std::span<const Value* const> arguments) {
  if ((name == "encode") != value.is_text() || arguments.size() > 2) {
    return {};
  }
  const char encoding = arguments.empty() ? 'u' : encoding_of(*arguments[0]);
  const std::string_view errors =
      arguments.size() == 2 && arguments[1]->is_text() ? arguments[1]->text : "";
  if (encoding == '\0') {
    return {};
  }
  if (is_ascii(value.text)) {
    return value.is_text() ? bytes(value.text) : text(value.text);
  }
  std::string made;
  if (encoding == 'u') {
    if (!is_utf8(value.text)) {
      return {};
    }
    made = value.text;
  } else {
    const char32_t most = encoding == 'a' ? 0x7F : 0xFF;
    for (const char32_t code : codes_of(value)) {
      if (code <= most) {
        made += from_codes({&code, 1}, value.is_text());
      } else if (errors == "replace" && value.is_text()) {
        made += '?';
      } else if (errors != "ignore") {
        return {};
      }
    }
  }
  return value.is_text() ? bytes(made) : text(made);
}

Found Constants::method(const Value& value,
                        std::string_view name,
                        std::span<const Value* const> arguments) {
  if ((!value.is_text() && !value.is_bytes()) || value.text.size() > 65'536) {
    return {};
  }
  const auto is = [&](auto... names) { return ((name == names) || ...); };
  if (is("lower", "upper", "title", "swapcase", "capitalize")) {
    return arguments.empty() ? cased(value, name) : Found{};
  }
  if (is("strip", "lstrip", "rstrip")) {
    return stripped(value, name, arguments);
  }
  if (is("replace")) {
    return replaced(value, arguments);
  }
  if (is("split")) {
    return split(value, arguments);
  }
  if (is("join")) {
    return arguments.size() == 1 ? joined(value, *arguments[0]) : Found{};
  }
  if (is("format")) {
    return value.is_text() ? formatted(value.text, arguments) : Found{};
  }
  if (is("encode", "decode")) {
    return encoded(value, name, arguments);
  }
  if (is("removeprefix", "removesuffix")) {
    if (arguments.size() != 1 || arguments[0]->kind != value.kind) {
      return {};
    }
    std::string_view rest = value.text;
    const std::string_view part = arguments[0]->text;
    if (name == "removeprefix" && rest.starts_with(part)) {
      rest.remove_prefix(part.size());
    } else if (name == "removesuffix" && rest.ends_with(part)) {
      rest.remove_suffix(part.size());
    }
    return same(value, rest);
  }
  if (is("hex") && value.is_bytes() && arguments.empty()) {
    std::string made;
    for (const char c : value.text) {
      made += digits_of(static_cast<unsigned char>(c) >> 4U, 'x').value_or("");
      made += digits_of(static_cast<unsigned char>(c) & 15U, 'x').value_or("");
    }
    return text(made);
  }
  return {};
}

}  // namespace glovebox::analyser
