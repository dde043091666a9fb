// SPDX-License-Identifier: Apache-2.0
#include "service/judge/comparison.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/text.h"

namespace glovebox::judge {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";
// What a message shows of a line or a word.
constexpr std::size_t kMaxShown = 60;

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kMaxShown;
  return "'" + printable(text.substr(0, kMaxShown)) + (cut ? "…'" : "'");
}

std::string_view without_trailing(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSpace);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

std::optional<std::string> differ_at(const std::string& place,
                                     const std::optional<std::string_view>& expected,
                                     const std::optional<std::string_view>& actual) {
  return place + ": expected " + (expected ? quoted(*expected) : "the end of the output") +
         ", got " + (actual ? quoted(*actual) : "the end of the output");
}

// Takes texts apart, one piece at a time.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  std::optional<std::string_view> next_line() {
    if (rest_.empty()) {
      return std::nullopt;
    }
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return without_trailing(line);
  }

  std::optional<std::string_view> next_word() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
    if (rest_.empty()) {
      return std::nullopt;
    }
    const std::size_t end = std::min(rest_.find_first_of(kSpace), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }

 private:
  std::string_view rest_;
};

std::optional<double> number_in(std::string_view word) {
  double value = 0;
  word.remove_prefix(word.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

bool are_close(std::string_view expected, std::string_view actual, double tolerance) {
  const std::optional<double> wanted = number_in(expected);
  const std::optional<double> got = number_in(actual);
  if (!wanted || !got || !std::isfinite(*wanted) || !std::isfinite(*got)) {
    return false;
  }
  const double distance = std::fabs(*wanted - *got);
  return distance <= tolerance || distance <= tolerance * std::fabs(*wanted);
}

std::optional<std::string> differ_in_lines(std::string_view expected, std::string_view actual) {
  Pieces wanted(without_trailing(expected));
  Pieces got(without_trailing(actual));
  for (std::size_t line = 1;; ++line) {
    const auto one = wanted.next_line();
    const auto other = got.next_line();
    if (!one && !other) {
      return std::nullopt;
    }
    if (one != other) {
      return differ_at("line " + std::to_string(line), one, other);
    }
  }
}

std::optional<std::string> differ_in_words(std::string_view expected,
                                           std::string_view actual,
                                           const Comparison& comparison) {
  Pieces wanted(expected);
  Pieces got(actual);
  const bool numbers = comparison.kind == Comparison::Kind::kNumbers;
  for (std::size_t word = 1;; ++word) {
    const auto one = wanted.next_word();
    const auto other = got.next_word();
    if (!one && !other) {
      return std::nullopt;
    }
    const bool close = numbers && one && other && are_close(*one, *other, comparison.tolerance);
    if (one != other && !close) {
      return differ_at("word " + std::to_string(word), one, other);
    }
  }
}

std::optional<std::string> differ_in_bytes(std::string_view expected, std::string_view actual) {
  if (expected == actual) {
    return std::nullopt;
  }
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(expected, actual).in1 - expected.begin());
  const auto from = [at](std::string_view text) {
    return at < text.size() ? std::optional(text.substr(at, kMaxShown)) : std::nullopt;
  };
  return differ_at("byte " + std::to_string(at + 1), from(expected), from(actual));
}

}  // namespace

Result<Comparison> parse_comparison(std::string_view text) {
  constexpr std::string_view kNumbers = "float:";
  if (text == "lines") {
    return Comparison{};
  }
  if (text == "exact") {
    return Comparison{.kind = Comparison::Kind::kExact};
  }
  if (text == "tokens") {
    return Comparison{.kind = Comparison::Kind::kTokens};
  }
  if (text.starts_with(kNumbers)) {
    const std::optional<double> tolerance = number_in(text.substr(kNumbers.size()));
    if (tolerance && std::isfinite(*tolerance) && *tolerance >= 0) {
      return Comparison{.kind = Comparison::Kind::kNumbers, .tolerance = *tolerance};
    }
  }
  return Error(ErrorCode::kInvalid, "'" + printable(text) + "' is not a comparison",
               "use lines, exact, tokens, or float with a tolerance: float:1e-6");
}

std::optional<std::string> difference(std::string_view expected,
                                      std::string_view actual,
                                      const Comparison& comparison) {
  switch (comparison.kind) {
    case Comparison::Kind::kExact:
      return differ_in_bytes(expected, actual);
    case Comparison::Kind::kLines:
      return differ_in_lines(expected, actual);
    case Comparison::Kind::kTokens:
    case Comparison::Kind::kNumbers:
      return differ_in_words(expected, actual, comparison);
  }
  return std::nullopt;
}

}  // namespace glovebox::judge
