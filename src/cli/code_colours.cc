// SPDX-License-Identifier: Apache-2.0
#include "cli/code_colours.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace glovebox::cli {
namespace {

constexpr const char* kKeyword = "\x1b[35m";
constexpr const char* kString = "\x1b[33m";
constexpr const char* kComment = "\x1b[90m";
constexpr const char* kNumber = "\x1b[36m";

constexpr std::array<std::string_view, 35> kPythonWords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
constexpr std::array<std::string_view, 18> kShellWords = {
    "case", "do", "done", "elif",  "else",  "esac",  "fi",       "for",    "function",
    "if",   "in", "then", "until", "while", "local", "readonly", "export", "return"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes above ASCII are letters of names.
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

// What the readers of all languages need at a place in the code.
class Scanner {
 public:
  explicit Scanner(std::string_view code) : code_(code) {}

  [[nodiscard]] bool at_end() const { return at_ >= code_.size(); }
  [[nodiscard]] char here() const { return code_[at_]; }
  [[nodiscard]] std::string_view rest() const { return code_.substr(at_); }
  [[nodiscard]] char before() const { return at_ == 0 ? '\n' : code_[at_ - 1]; }
  void skip() { ++at_; }

  void comment() { add(kComment, code_.find('\n', at_)); }

  void number() {
    std::size_t end = at_;
    while (end < code_.size() && (is_name(code_[end]) || code_[end] == '.')) {
      ++end;
    }
    add(kNumber, end);
  }

  template <std::size_t Count>
  void word(const std::array<std::string_view, Count>& keywords) {
    std::size_t end = at_;
    while (end < code_.size() && is_name(code_[end])) {
      ++end;
    }
    const std::string_view word = code_.substr(at_, end - at_);
    if (std::ranges::find(keywords, word) != keywords.end()) {
      add(kKeyword, end);
    } else {
      at_ = end;
    }
  }

  // From here, `skipped` bytes before its first quote, to `quote`.
  void string(std::size_t skipped, std::string_view quote, bool escapes, bool over_lines) {
    std::size_t end = at_ + skipped + quote.size();
    while (end < code_.size() && !code_.substr(end).starts_with(quote) &&
           (over_lines || code_[end] != '\n')) {
      end += escapes && code_[end] == '\\' ? 2 : 1;
    }
    add(kString, end < code_.size() && code_[end] != '\n' ? end + quote.size() : end);
  }

  std::vector<ColouredPart> take() { return std::move(parts_); }

 private:
  void add(const char* colour, std::size_t end) {
    end = std::min(end, code_.size());
    parts_.push_back({.begin = at_, .end = end, .colour = colour});
    at_ = end;
  }

  const std::string_view code_;
  std::size_t at_ = 0;
  std::vector<ColouredPart> parts_;
};

// How many letters stand before the quote of a string here: r, b, f, u and pairs of them.
std::optional<std::size_t> python_prefix(const Scanner& scanner) {
  constexpr std::string_view kLetters = "rRbBfFuU";
  const std::string_view code = scanner.rest();
  std::size_t letters = 0;
  while (letters < 2 && letters < code.size() &&
         kLetters.find(code[letters]) != std::string_view::npos) {
    ++letters;
  }
  const bool begins = letters == 0 || !is_name(scanner.before());
  return begins && letters < code.size() && (code[letters] == '\'' || code[letters] == '"')
             ? std::optional(letters)
             : std::nullopt;
}

std::vector<ColouredPart> colour_python(std::string_view code) {
  Scanner scanner(code);
  while (!scanner.at_end()) {
    if (const auto prefix = python_prefix(scanner)) {
      const std::string_view quotes = scanner.rest().substr(*prefix);
      const bool is_long = quotes.starts_with("\"\"\"") || quotes.starts_with("'''");
      scanner.string(*prefix, quotes.substr(0, is_long ? 3 : 1), true, is_long);
    } else if (scanner.here() == '#') {
      scanner.comment();
    } else if (is_digit(scanner.here())) {
      scanner.number();
    } else if (is_name(scanner.here())) {
      scanner.word(kPythonWords);
    } else {
      scanner.skip();
    }
  }
  return scanner.take();
}

std::vector<ColouredPart> colour_shell(std::string_view code) {
  Scanner scanner(code);
  while (!scanner.at_end()) {
    const char here = scanner.here();
    const bool begins_word =
        std::string_view(" \t\n;|&(").find(scanner.before()) != std::string_view::npos;
    if (here == '\\') {
      scanner.skip();
      if (!scanner.at_end()) {
        scanner.skip();
      }
    } else if (here == '\'' || here == '"') {
      scanner.string(0, here == '"' ? "\"" : "'", here == '"', true);
    } else if (here == '#' && begins_word) {
      scanner.comment();
    } else if (begins_word && is_name(here)) {
      scanner.word(kShellWords);
    } else {
      scanner.skip();
    }
  }
  return scanner.take();
}

}  // namespace

std::vector<ColouredPart> colour_code(std::string_view language, std::string_view code) {
  if (language == "python") {
    return colour_python(code);
  }
  return language == "bash" ? colour_shell(code) : std::vector<ColouredPart>();
}

}  // namespace glovebox::cli
