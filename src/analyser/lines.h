// SPDX-License-Identifier: Apache-2.0
// Where things stand in a text, for people: lines and columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyser/facts.h"
#include "analyser/inside.h"

namespace glovebox::analyser {

class Lines {
 public:
  // All of a text that stands inside of another one is where that is. `text` must live as long.
  Lines(std::string_view text, std::optional<Inside> inside);
  [[nodiscard]] Place place(std::size_t at) const;
  // That of a text which stands at `at`.
  [[nodiscard]] Inside inside(std::size_t at) const {
    return {.at = place(at), .depth = inside_ ? inside_->depth + 1 : 1};
  }

 private:
  std::string_view text_;
  std::optional<Inside> inside_;
  std::vector<std::uint32_t> starts_{};
};

}  // namespace glovebox::analyser
