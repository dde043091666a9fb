// SPDX-License-Identifier: Apache-2.0
// LinePainter: draws the text in a line editor once more, in colours.
//
// The editor (libedit) draws without colours, and only what has changed. So whenever it waits for a
// key, the same characters are written over those that it drew, in the same places. What the editor
// believes about the screen stays true. If we cannot be sure of the places, nothing is drawn.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/code_colours.h"

namespace glovebox::cli {

struct EditedLine {
  std::size_t prompt = 0;  // Columns in front of the text.
  std::string_view text{};
  std::size_t cursor = 0;  // Bytes of the text in front of it.
};

struct ScreenSize {
  std::size_t columns = 0;
  std::size_t rows = 0;
  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

// The bytes that draw the text in colours and leave the cursor where it was; `parts` are of the
// text. Nothing if the text does not fit on the screen, or has characters on whose width terminals
// disagree.
std::optional<std::string> paint_line(const EditedLine& line,
                                      const std::vector<ColouredPart>& parts,
                                      ScreenSize screen);

}  // namespace glovebox::cli
