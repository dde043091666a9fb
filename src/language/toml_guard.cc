// SPDX-License-Identifier: Apache-2.0
#include "language/toml_guard.h"

#include <algorithm>

namespace glovebox {
namespace {

// Dots outside of strings and comments; each may make a table within a table.
constexpr std::size_t kMaxDots = 256;

constexpr const char* kForeign =
    "non-ASCII characters are allowed only in comments; write them as \\uXXXX in double quotes";

bool is_foreign(char c) { return static_cast<unsigned char>(c) >= 0x80; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// What may begin the name in a table header, or close an empty one, which the library handles well.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'' || c == ']';
}

class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) {
      text_.remove_prefix(3);
    }
  }

  GuardedToml run() {
    GuardedToml guarded{.fault = find_fault(), .text = {}};
    for (const char c : text_) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) {
        guarded.text.push_back(c);
      } else if (byte >= 0xc0) {
        guarded.text.push_back('?');  // One for each character: its first byte.
      }
    }
    return guarded;
  }

 private:
  std::optional<TomlFault> find_fault() {
    std::size_t dots = 0;
    char previous = '\n';  // The last character that was not a blank.
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (c == '"' || c == '\'') {
        const std::size_t begin = at_;
        skip_string(c);
        const auto letter =
            std::find_if(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                         text_.begin() + static_cast<std::ptrdiff_t>(at_), is_foreign);
        if (letter != text_.begin() + static_cast<std::ptrdiff_t>(at_)) {
          return fault(static_cast<std::size_t>(letter - text_.begin()), kForeign);
        }
        previous = c;
        continue;
      }
      if (is_foreign(c)) {
        return fault(at_, kForeign);
      }
      if (c == '.' && ++dots > kMaxDots) {
        return fault(at_, "too many dotted keys");
      }
      if (c == '[' && previous == '\n' && !header_has_name()) {
        return fault(at_, "this table has no name");
      }
      previous = is_blank(c) ? previous : c;
      ++at_;
    }
    return std::nullopt;
  }

  // Moves past the string that begins here. A string that is not closed ends with its line, or with
  // the text; the library will complain about it.
  void skip_string(char quote) {
    const std::size_t quotes = is_triple(quote) ? 3 : 1;
    at_ += quotes;
    while (at_ < text_.size()) {
      if (quote == '"' && text_[at_] == '\\') {
        at_ += 2;
      } else if (text_[at_] == quote && (quotes == 1 || is_triple(quote))) {
        at_ += quotes;
        // Up to two quotes may be part of the string, before the closing three.
        for (int more = 0; quotes == 3 && more < 2 && at_ < text_.size() && text_[at_] == quote;
             ++more) {
          ++at_;
        }
        return;
      } else if (quotes == 1 && text_[at_] == '\n') {
        return;
      } else {
        ++at_;
      }
    }
    at_ = text_.size();
  }

  [[nodiscard]] bool is_triple(char quote) const {
    return text_.size() - at_ >= 3 && text_[at_ + 1] == quote && text_[at_ + 2] == quote;
  }

  // In a list over several lines a "[" may start a line, too, and anything may follow it: such a
  // file has to put its inner lists elsewhere on the line, or close them on it.
  [[nodiscard]] bool header_has_name() const {
    std::size_t next = at_ + 1;
    if (next < text_.size() && text_[next] == '[') {
      ++next;
    }
    while (next < text_.size() && is_blank(text_[next])) {
      ++next;
    }
    return next < text_.size() && begins_name(text_[next]);
  }

  [[nodiscard]] TomlFault fault(std::size_t at, const char* what) const {
    const std::string_view before = text_.substr(0, at);
    const std::size_t line_start = before.rfind('\n') + 1;
    const std::string_view line = before.substr(line_start);
    // The bytes that continue a UTF-8 sequence are not characters of their own.
    const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    });
    return {.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
            .column = 1 + static_cast<std::size_t>(characters),
            .what = what};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

GuardedToml guard_toml(std::string_view text) { return Scan(text).run(); }

}  // namespace glovebox
