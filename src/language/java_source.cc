// SPDX-License-Identifier: Apache-2.0
#include "language/java_source.h"

#include <algorithm>
#include <array>

namespace glovebox {
namespace {

// Names longer than this could not be file names.
constexpr std::size_t kMaxClassName = 200;

constexpr std::array<std::string_view, 4> kTypeWords = {"class", "interface", "enum", "record"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

// Gives words and single characters, without comments and literals.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Empty at the end.
  std::string_view next() {
    while (!text_.empty()) {
      if (text_.starts_with("//")) {
        skip_behind("\n", 2);
      } else if (text_.starts_with("/*")) {
        skip_behind("*/", 2);
      } else if (text_.starts_with("\"\"\"")) {
        skip_literal("\"\"\"");
      } else if (text_.front() == '"' || text_.front() == '\'') {
        skip_literal(text_.substr(0, 1));
      } else if (is_word(text_.front())) {
        const auto end = std::find_if_not(text_.begin(), text_.end(), is_word);
        return take(static_cast<std::size_t>(end - text_.begin()));
      } else if (text_.front() == ' ' || (text_.front() >= '\t' && text_.front() <= '\r')) {
        text_.remove_prefix(1);
      } else {
        return take(1);
      }
    }
    return {};
  }

 private:
  std::string_view take(std::size_t size) {
    const std::string_view token = text_.substr(0, size);
    text_.remove_prefix(size);
    return token;
  }

  void skip_behind(std::string_view end, std::size_t from) {
    const std::size_t at = text_.find(end, from);
    text_.remove_prefix(at == std::string_view::npos ? text_.size() : at + end.size());
  }

  void skip_literal(std::string_view quote) {
    const std::string_view end = quote;
    std::size_t at = quote.size();
    while (at < text_.size() && !text_.substr(at).starts_with(end)) {
      at += text_[at] == '\\' ? 2 : 1;
    }
    text_.remove_prefix(std::min(text_.size(), at + end.size()));
  }

  std::string_view text_;
};

bool declares_type(std::string_view word) {
  return std::find(kTypeWords.begin(), kTypeWords.end(), word) != kTypeWords.end();
}

}  // namespace

JavaNames java_names(std::string_view code) {
  Scanner scanner(code);
  std::string package;
  std::string public_type;
  std::string type_with_main;
  std::string first_type;
  std::string current;  // The top-level type that was named last.
  int depth = 0;
  bool is_public = false;
  std::string_view previous;
  for (std::string_view token = scanner.next(); !token.empty(); token = scanner.next()) {
    if (token == "{") {
      ++depth;
    } else if (token == "}") {
      depth = std::max(0, depth - 1);
      is_public = false;
    } else if (depth == 0 && token == ";") {
      is_public = false;
    } else if (depth == 0 && token == "public") {
      is_public = true;
    } else if (depth == 0 && token == "package") {
      package.clear();
      for (token = scanner.next(); !token.empty() && token != ";"; token = scanner.next()) {
        if (package.size() < kMaxClassName) {
          package += token;
        }
      }
    } else if (depth == 0 && declares_type(previous) && is_word(token.front()) &&
               token.size() <= kMaxClassName) {
      current = token;
      if (first_type.empty()) {
        first_type = current;
      }
      if (is_public && public_type.empty()) {
        public_type = current;
      }
    } else if (depth == 1 && previous == "main" && token == "(" && type_with_main.empty()) {
      type_with_main = current;
    }
    previous = token;
  }
  JavaNames names;
  names.file_stem = public_type;
  for (const std::string* candidate : {&type_with_main, &public_type, &first_type}) {
    if (!candidate->empty()) {
      names.main_class = package.empty() ? *candidate : package + "." + *candidate;
      break;
    }
  }
  return names;
}

}  // namespace glovebox
