// SPDX-License-Identifier: Apache-2.0
#include "spec/json/raw_json.h"

#include <algorithm>
#include <array>

namespace glovebox {
namespace {

// Which bytes a value of several parts can begin or end with, or a string in it.
constexpr std::array<bool, 256> kStructure = [] {
  std::array<bool, 256> structure{};
  for (const unsigned char c : std::string_view(R"("{}[])")) {
    structure[c] = true;
  }
  return structure;
}();

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Reads through a text that is valid JSON; always stops at its end if it is not.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { skip_space(); }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  // Takes the character, with the space around it, if it comes next.
  bool take(char c) {
    if (peek() != c) {
      return false;
    }
    ++at_;
    skip_space();
    return true;
  }

  // The value that begins here, without the space behind it.
  std::string_view value() {
    const std::size_t start = at_;
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        depth -= depth > 0 ? 1 : 0;
        ++at_;
      } else if (depth > 0) {
        while (++at_ < text_.size() && !kStructure[static_cast<unsigned char>(text_[at_])]) {
        }
      } else {
        at_ = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
      }
    } while (depth > 0 && at_ < text_.size());
    const std::string_view found = text_.substr(start, at_ - start);
    skip_space();
    return found;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      ++at_;
    }
  }

  void skip_string() {
    const std::size_t first = ++at_;
    for (bool escaped = true; escaped;) {
      at_ = text_.find('"', at_);
      if (at_ == std::string_view::npos) {
        at_ = text_.size();
        return;
      }
      escaped = false;
      for (std::size_t i = at_++; i > first && text_[i - 1] == '\\'; --i) {
        escaped = !escaped;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> raw_members(std::string_view object) {
  std::vector<std::pair<std::string_view, std::string_view>> members;
  Cursor cursor(object);
  if (!cursor.take('{')) {
    return members;
  }
  while (cursor.peek() == '"') {
    const std::string_view name = cursor.value();
    if (name.size() < 2 || !cursor.take(':')) {
      break;
    }
    members.emplace_back(name.substr(1, name.size() - 2), cursor.value());
    if (!cursor.take(',')) {
      break;
    }
  }
  return members;
}

std::optional<std::string_view> raw_member(std::string_view object, std::string_view name) {
  for (const auto& [key, value] : raw_members(object)) {
    if (key == name) {
      return value;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> raw_items(std::string_view array) {
  std::vector<std::string_view> items;
  Cursor cursor(array);
  if (!cursor.take('[')) {
    return items;
  }
  while (cursor.peek() != ']' && cursor.peek() != '\0') {
    items.push_back(cursor.value());
    if (!cursor.take(',')) {
      break;
    }
  }
  return items;
}

std::string compact_json(std::string_view json) {
  std::string compact;
  compact.reserve(json.size());
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string || !is_space(c)) {
      compact += c;
    }
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string && c == '\\' && i + 1 < json.size()) {
      compact += json[++i];
    }
  }
  return compact;
}

}  // namespace glovebox
