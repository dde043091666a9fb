// SPDX-License-Identifier: Apache-2.0
// ObjectText: a JSON object that is written member by member, without a tree of values first.
//
// A verdict has some eighty members, and each execution waits for one.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace glovebox {

// The text as a JSON string with its quotes. What is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quoted_json(std::string_view text);

class ObjectText {
 public:
  ObjectText& add(std::string_view name, std::string_view text) {
    return add_text(name, quoted_json(text));
  }
  ObjectText& add(std::string_view name, const char* text) {
    return add(name, std::string_view(text));
  }
  ObjectText& add(std::string_view name, bool value) {
    return add_text(name, value ? "true" : "false");
  }
  ObjectText& add(std::string_view name, std::integral auto value) {
    return add_text(name, std::to_string(value));
  }
  // Always with a fraction, if only ".0". NaN and infinities become null.
  ObjectText& add(std::string_view name, double value);
  ObjectText& add_null(std::string_view name) { return add_text(name, "null"); }
  // Adds a value that is JSON text already, as it is.
  ObjectText& add_text(std::string_view name, std::string_view value);

  // The object, which is empty from then on.
  [[nodiscard]] std::string take() { return std::exchange(text_, "{") + "}"; }

 private:
  std::string text_ = "{";
};

}  // namespace glovebox
