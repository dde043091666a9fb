// SPDX-License-Identifier: Apache-2.0
#include "spec/limit_fields.h"

#include <array>
#include <cstdio>

namespace glovebox {

Limits LimitWishes::over(Limits base) const {
  each_wish([&](const auto& field) {
    base.*field.limit = (this->*field.wish).value_or(base.*field.limit);
  });
  return base;
}

LimitWishes LimitWishes::over(const LimitWishes& base) const {
  LimitWishes both = *this;
  each_wish([&](const auto& field) {
    if (!(both.*field.wish)) {
      both.*field.wish = base.*field.wish;
    }
  });
  return both;
}

std::string limit_text(std::chrono::milliseconds value) {
  return std::to_string(value.count()) + "ms";
}
std::string limit_text(Bytes value) { return to_string(value); }
std::string limit_text(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}
std::string limit_text(std::uint32_t value) { return std::to_string(value); }

std::string names_of_limits() {
  std::string names;
  each_wish(
      [&](const auto& field) { names += (names.empty() ? "" : ", ") + std::string(field.name); });
  return names;
}

}  // namespace glovebox
