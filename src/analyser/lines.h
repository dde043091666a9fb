// SPDX-License-Identifier: Apache-2.0
// Where things are in a text, for people: lines and columns.
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
  // Everything in a text inside another one has the place `inside->at`. `text` must outlive this.
  Lines(std::string_view text, std::optional<Inside> inside);
  [[nodiscard]] Place place(std::size_t at) const;
  // The Inside of a text that was found at `at`.
  [[nodiscard]] Inside inside(std::size_t at) const {
    return {.at = place(at), .depth = inside_ ? inside_->depth + 1 : 1};
  }

 private:
  std::string_view text_;
  std::optional<Inside> inside_;
  std::vector<std::uint32_t> starts_{};
};

}  // namespace glovebox::analyser
