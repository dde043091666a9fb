// SPDX-License-Identifier: Apache-2.0
// Sql: the text of a statement, fixed when this program was compiled.
//
// Nothing that a caller sends can become SQL, because no text made at run time converts to Sql;
// what varies is bound as a parameter.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace glovebox {

// A part that several statements have in common.
template <std::size_t Size>
struct SqlPart {
  std::array<char, Size> text{};  // With its terminating null.

  consteval SqlPart() = default;
  // NOLINTNEXTLINE(google-explicit-constructor,modernize-avoid-c-arrays): a literal is the point.
  consteval SqlPart(const char (&literal)[Size]) {
    std::copy_n(static_cast<const char*>(literal), Size, text.begin());
  }
};

template <std::size_t Left, std::size_t Right>
consteval SqlPart<Left + Right - 1> operator+(const SqlPart<Left>& left,
                                              const SqlPart<Right>& right) {
  SqlPart<Left + Right - 1> joined;
  std::copy_n(left.text.begin(), Left - 1, joined.text.begin());
  std::copy_n(right.text.begin(), Right, joined.text.begin() + (Left - 1));
  return joined;
}

class Sql {
 public:
  template <std::size_t Size>
  // NOLINTNEXTLINE(google-explicit-constructor,modernize-avoid-c-arrays): a literal is the point.
  consteval Sql(const char (&literal)[Size])
      : text_(static_cast<const char*>(literal)), size_(Size - 1) {}
  // A part that lives as long as the program: constexpr, at namespace scope.
  template <std::size_t Size>
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Sql(const SqlPart<Size>& part) : text_(part.text.data()), size_(Size - 1) {}

  [[nodiscard]] constexpr std::string_view text() const { return {text_, size_}; }

 private:
  const char* text_;
  std::size_t size_;
};

}  // namespace glovebox
