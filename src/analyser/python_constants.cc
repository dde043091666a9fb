// SPDX-License-Identifier: Apache-2.0
#include "analyser/python_constants.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <vector>

#include "analyser/python_decoders.h"
#include "analyser/python_literals.h"
#include "analyser/python_text.h"
#include "base/text.h"

namespace glovebox::analyser {
namespace {

using Kind = Value::Kind;
using Found = Constants::Found;

Value integer(std::int64_t number) { return {.kind = Kind::kInt, .number = number}; }

Value large() {
  return {.kind = Kind::kInt, .large = true, .number = std::numeric_limits<std::int64_t>::max()};
}

int bits_of(std::int64_t number) {
  const auto size =
      number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  return std::numeric_limits<std::uint64_t>::digits - std::countl_zero(size);
}

double real_of(const Value& value) {
  return value.kind == Kind::kFloat ? value.real : static_cast<double>(value.number);
}

bool is_real(const Value& value) {
  return value.kind == Kind::kFloat || (value.is_int() && !value.large);
}

// As repr(): the shortest digits that are read back as the same number.
std::string written_real(double real) {
  std::array<char, 32> room{};
  const auto end = std::to_chars(room.begin(), room.end(), real, std::chars_format::scientific);
  const std::string_view shortest(room.data(), static_cast<std::size_t>(end.ptr - room.data()));
  const std::size_t exponent_at = shortest.find('e');
  if (exponent_at == std::string_view::npos) {
    return std::string(shortest);  // "inf", "nan"
  }
  int exponent = 0;
  const char* first = shortest.data() + exponent_at + 1;
  (void)std::from_chars(first + (*first == '+' ? 1 : 0), end.ptr, exponent);
  if (exponent < -4 || exponent >= 16) {
    return std::string(shortest);
  }
  std::array<char, 64> fixed{};
  const auto fixed_end = std::to_chars(fixed.begin(), fixed.end(), real, std::chars_format::fixed);
  std::string text(fixed.data(), fixed_end.ptr);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::optional<Found> whole_numbers(char op, const Value& left, const Value& right) {
  if (!left.is_int() || !right.is_int() || (op != '+' && op != '-' && op != '^' && op != '*')) {
    return std::nullopt;
  }
  if (left.large || right.large) {
    return Found{};
  }
  std::int64_t result = 0;
  if (op == '+' || op == '-') {
    const bool over = op == '+' ? __builtin_add_overflow(left.number, right.number, &result)
                                : __builtin_sub_overflow(left.number, right.number, &result);
    if (over) {
      return left.number > 0 ? Found(large()) : Found{};
    }
    return integer(result);
  }
  if (op == '^') {
    const bool both = left.kind == Kind::kBool && right.kind == Kind::kBool;
    return Value{.kind = both ? Kind::kBool : Kind::kInt, .number = left.number ^ right.number};
  }
  return bits_of(left.number) + bits_of(right.number) < 64
             ? Found(integer(left.number * right.number))
             : Found{};
}

// The first index and how many items, of those that a slice takes.
struct Range {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};

std::optional<Range> range_of(std::int64_t size,
                              const Value* lower,
                              const Value* upper,
                              const Value* step) {
  const auto number = [](const Value* value,
                         std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (value == nullptr || value->kind == Kind::kNone) {
      return otherwise;
    }
    return value->is_int() && !value->large ? std::optional(value->number) : std::nullopt;
  };
  const auto by = number(step, 1);
  if (!by || *by == 0 || *by == std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  const bool back = *by < 0;
  const auto bound = [&](const Value* value,
                         std::int64_t otherwise) -> std::optional<std::int64_t> {
    auto at = number(value, otherwise);
    if (at && value != nullptr && value->kind != Kind::kNone) {
      *at = std::clamp(*at < 0 ? *at + size : *at, back ? std::int64_t{-1} : std::int64_t{0},
                       back ? size - 1 : size);
    }
    return at;
  };
  const auto first = bound(lower, back ? size - 1 : 0);
  const auto end = bound(upper, back ? -1 : size);
  if (!first || !end) {
    return std::nullopt;
  }
  const std::int64_t distance = back ? *first - *end : *end - *first;
  const std::int64_t stride = back ? -*by : *by;
  return Range{.first = *first,
               .step = *by,
               .count = distance <= 0 ? 0 : 1 + (distance - 1) / stride};
}

}  // namespace

Found Constants::text(std::string_view made) {
  return made.size() > kMostText || arena_.full()
             ? Found{}
             : Value{.kind = Kind::kText, .text = arena_.keep(made)};
}

Found Constants::bytes(std::string_view made) {
  return made.size() > kMostText || arena_.full()
             ? Found{}
             : Value{.kind = Kind::kBytes, .text = arena_.keep(made)};
}

Found Constants::same(const Value& like, std::string_view made) {
  return like.is_bytes() ? bytes(made) : text(made);
}

Found Constants::list(std::span<const Value* const> items) {
  return items.size() > kMostItems || arena_.full()
             ? Found{}
             : Value{.kind = Kind::kList, .items = arena_.keep(items)};
}

bool Constants::equal(const Value& one, const Value& other) {
  if (is_real(one) && is_real(other)) {
    return real_of(one) == real_of(other);
  }
  if (one.kind != other.kind || one.large || other.large || one.kind == Kind::kUnknown ||
      one.kind == Kind::kComplex) {
    return false;
  }
  // NOLINTNEXTLINE(misc-no-recursion): lists are as deep as the tree.
  return one.text == other.text &&
         std::ranges::equal(one.items, other.items,
                            [](const Value* a, const Value* b) { return equal(*a, *b); });
}

Found Constants::binary(char op, const Value& left, const Value& right) {
  if (const auto known = whole_numbers(op, left, right)) {
    return *known;
  }
  if (op == '%') {
    return left.is_text() && left.text.size() < 4096 ? percent(left.text, right) : Found{};
  }
  if (op == '*') {
    if (!left.is_text() || !right.is_int() || right.large || right.number <= 0 ||
        right.number >= 1000 || left.text.size() >= 256) {
      return {};
    }
    std::string made;
    for (std::int64_t i = 0; i < right.number; ++i) {
      made += left.text;
    }
    return text(made);
  }
  if (op != '+') {
    return {};
  }
  if (is_real(left) && is_real(right)) {
    return Value{.kind = Kind::kFloat, .real = real_of(left) + real_of(right)};
  }
  if (left.kind != right.kind) {
    return {};
  }
  if (left.is_text() || left.is_bytes()) {
    return left.text.size() + right.text.size() > kMostText
               ? Found{}
               : same(left, std::string(left.text) + std::string(right.text));
  }
  if (left.is_list()) {
    std::vector<const Value*> both(left.items.begin(), left.items.end());
    both.insert(both.end(), right.items.begin(), right.items.end());
    return list(both);
  }
  return {};
}

Found Constants::negative(const Value& value) {
  return value.is_int() && !value.large ? Found(integer(-value.number)) : Found{};
}

// NOLINTNEXTLINE(misc-no-recursion): lists are as deep as the tree.
std::optional<std::string> Constants::written(const Value& value) {
  switch (value.kind) {
    case Kind::kText:
      return std::string(value.text);
    case Kind::kBytes:
      return shown(value.text, true);
    case Kind::kNone:
      return "None";
    case Kind::kEllipsis:
      return "Ellipsis";
    case Kind::kBool:
      return value.number != 0 ? "True" : "False";
    case Kind::kInt:
      return value.large ? std::nullopt : std::optional(std::to_string(value.number));
    case Kind::kFloat:
      return written_real(value.real);
    case Kind::kList: {
      std::string all = "[";
      for (const Value* const item : value.items) {
        const auto one = item->is_text() ? shown(item->text, false) : written(*item);
        if (!one || all.size() > kMostText) {
          return std::nullopt;
        }
        all += (all.size() > 1 ? ", " : "") + *one;
      }
      return all + "]";
    }
    case Kind::kComplex:
    case Kind::kUnknown:
      return std::nullopt;
  }
  return std::nullopt;
}

Found Constants::item(const Value& sequence, const Value& index) {
  if (!index.is_int() || index.large) {
    return {};
  }
  const auto all = items(sequence, kMostText);
  if (!all) {
    return {};
  }
  const auto size = static_cast<std::int64_t>(all->size());
  const std::int64_t at = index.number < 0 ? index.number + size : index.number;
  return at >= 0 && at < size ? Found(*(*all)[static_cast<std::size_t>(at)]) : Found{};
}

Found Constants::slice(const Value& sequence,
                       const Value* lower,
                       const Value* upper,
                       const Value* step) {
  const auto taken = [&](const auto& from) -> std::optional<std::decay_t<decltype(from)>> {
    const auto range = range_of(static_cast<std::int64_t>(from.size()), lower, upper, step);
    if (!range) {
      return std::nullopt;
    }
    std::decay_t<decltype(from)> to;
    for (std::int64_t i = 0; i < range->count; ++i) {
      to.push_back(from[static_cast<std::size_t>(range->first + i * range->step)]);
    }
    return to;
  };
  if (sequence.is_list()) {
    const auto part =
        taken(std::vector<const Value*>(sequence.items.begin(), sequence.items.end()));
    return part ? list(*part) : Found{};
  }
  if (!sequence.is_text() && !sequence.is_bytes()) {
    return {};
  }
  const auto part = taken(codes_of(sequence));
  return part ? same(sequence, from_codes(*part, sequence.is_bytes())) : Found{};
}

std::optional<std::span<const Value* const>> Constants::items(const Value& value,
                                                              std::size_t most) {
  if (value.is_list()) {
    return value.items.size() > most ? std::nullopt : std::optional(value.items);
  }
  if (!value.is_text() && !value.is_bytes()) {
    return std::nullopt;
  }
  const std::u32string codes = codes_of(value);
  if (codes.size() > most || arena_.full()) {
    return std::nullopt;
  }
  std::vector<const Value*> all;
  all.reserve(codes.size());
  for (const char32_t code : codes) {
    all.push_back(arena_.make(
        value.is_bytes()
            ? integer(static_cast<std::int64_t>(code))
            : Value{.kind = Kind::kText, .text = arena_.keep(from_codes({&code, 1}, false))}));
  }
  return arena_.keep(std::span<const Value* const>(all));
}

Found Constants::characters(const Value& value) {
  if ((!value.is_list() && !value.is_bytes()) || value.items.size() >= kMostItems) {
    return {};
  }
  const auto all = items(value, kMostItems);
  if (!all) {
    return {};
  }
  std::vector<const Value*> made;
  for (const Value* const code : *all) {
    const Found character = call("chr", {{code}});
    if (!character) {
      return {};
    }
    made.push_back(arena_.make(*character));
  }
  return list(made);
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): a table of functions.
Found Constants::call(std::string_view function, std::span<const Value* const> arguments) {
  const Value& first = *arguments.front();
  const bool alone = arguments.size() == 1;
  const auto ascii = [&]() -> std::optional<std::string_view> {
    const bool plain = (first.is_text() && is_ascii(first.text)) || first.is_bytes();
    return plain && alone ? std::optional(first.text) : std::nullopt;
  };
  const auto decoded = [&](auto decoder) -> Found {
    const auto text = ascii();
    const std::optional<std::string> made = text ? decoder(*text) : std::nullopt;
    return made ? bytes(*made) : Found{};
  };
  const auto is = [&](auto... names) { return ((function == names) || ...); };
  if (is("chr")) {
    return first.is_int() && first.number >= 0 && first.number <= 0x10FFFF && alone
               ? text(from_codes(std::u32string(1, static_cast<char32_t>(first.number)), false))
               : Found{};
  }
  if (is("str")) {
    if (first.is_bytes() && !alone) {
      return encoded(first, "decode", arguments.subspan(1));
    }
    const auto made = alone ? written(first) : std::nullopt;
    return made ? text(*made) : Found{};
  }
  if (is("bytes", "bytearray")) {
    if (first.is_text()) {
      return alone ? Found{} : encoded(first, "encode", arguments.subspan(1));
    }
    if (first.is_bytes()) {
      return alone ? Found(first) : Found{};
    }
    std::string made;
    for (const Value* const each : first.items) {
      if (!each->is_int() || each->number < 0 || each->number > 255) {
        return {};
      }
      made += static_cast<char>(each->number);
    }
    return first.is_list() && alone ? bytes(made) : Found{};
  }
  if (is("bytes.fromhex", "bytearray.fromhex", "binascii.unhexlify", "binascii.a2b_hex")) {
    return decoded(from_hex);
  }
  if (is("base64.b64decode", "binascii.a2b_base64", "base64.standard_b64decode",
         "base64.decodebytes")) {
    return decoded([](std::string_view text) { return from_base64(text, false); });
  }
  if (is("base64.urlsafe_b64decode")) {
    return decoded([](std::string_view text) { return from_base64(text, true); });
  }
  if (is("base64.b32decode")) {
    return decoded(from_base32);
  }
  if (is("base64.b16decode")) {
    return first.text.find_first_of("abcdef \t\n\r\v\f") == std::string_view::npos
               ? decoded(from_hex)
               : Found{};
  }
  if (is("base64.b85decode")) {
    return decoded(from_base85);
  }
  if (is("base64.a85decode")) {
    return decoded(from_ascii85);
  }
  if (is("codecs.decode")) {
    const std::string_view codec = arguments.size() == 2 ? arguments[1]->text : "";
    if (first.is_text() && (codec == "rot13" || codec == "rot_13")) {
      return text(from_rot13(first.text));
    }
    if (codec != "hex" && codec != "base64") {
      return {};
    }
    const auto made = codec == "hex" ? from_hex(first.text) : from_base64(first.text, false);
    return made && (first.is_text() || first.is_bytes()) ? bytes(*made) : Found{};
  }
  if (is("urllib.parse.unquote")) {
    return (first.is_text() || first.is_bytes()) && alone ? text(to_utf8(from_percents(first.text)))
                                                          : Found{};
  }
  if (is("reversed", "list")) {
    const auto all = alone ? items(first, kMostItems) : std::nullopt;
    if (!all) {
      return {};
    }
    std::vector<const Value*> made(all->begin(), all->end());
    if (function == "reversed") {
      std::ranges::reverse(made);
    }
    return list(made);
  }
  if (is("pathlib.Path", "Path", "os.fspath", "os.path.expanduser")) {
    return alone ? Found(first) : Found{};
  }
  if (is("os.path.join")) {
    std::string made;
    for (const Value* const each : arguments) {
      if (!each->is_text()) {
        return {};
      }
      made += (each == arguments.front() ? "" : "/") + std::string(each->text);
    }
    return text(made);
  }
  return {};
}

}  // namespace glovebox::analyser
