// SPDX-License-Identifier: Apache-2.0
#include "cli/line_painter.h"

#include <algorithm>
#include <cwchar>

namespace glovebox::cli {
namespace {

constexpr std::size_t kMostText = 8'192;
constexpr const char* kNoColour = "\x1b[0m";

struct CaretPlace {
  std::size_t row = 0;
  std::size_t column = 0;
};

// Where the editor puts the characters of a text, one after the other.
class Layout {
 public:
  Layout(std::size_t prompt, ScreenSize screen)
      : screen_(screen), place_{.row = 0, .column = prompt} {}

  // False for a character whose width is not known.
  bool add(wchar_t character) {
    if (character == L'\n') {
      next_row();
      return true;
    }
    const int width = ::wcwidth(character);
    if (width <= 0) {
      return false;
    }
    const auto columns = static_cast<std::size_t>(width);
    if (place_.column + columns > screen_.columns) {
      next_row();
    }
    place_.column += columns;
    at_edge_ = place_.column >= screen_.columns;
    if (at_edge_) {
      next_row();
      at_edge_ = true;
    }
    return true;
  }

  [[nodiscard]] CaretPlace place() const { return place_; }
  // After the last column: terminals differ in where their cursor is then.
  [[nodiscard]] bool at_edge() const { return at_edge_; }

 private:
  void next_row() {
    ++place_.row;
    place_.column = 0;
    at_edge_ = false;
  }

  const ScreenSize screen_;
  CaretPlace place_;
  bool at_edge_ = false;
};

}  // namespace

std::optional<std::string> paint_line(const EditedLine& line,
                                      const std::vector<ColouredPart>& parts,
                                      ScreenSize screen) {
  if (line.text.size() > kMostText || line.prompt == 0 || line.prompt + 2 > screen.columns) {
    return std::nullopt;
  }
  Layout layout(line.prompt, screen);
  std::optional<CaretPlace> cursor;
  std::string drawn;
  auto part = parts.begin();
  std::mbstate_t state{};
  for (std::size_t at = 0; at < line.text.size();) {
    if (at == line.cursor) {
      if (layout.at_edge()) {
        return std::nullopt;
      }
      cursor = layout.place();
    }
    wchar_t character = 0;
    const std::size_t size =
        std::mbrtowc(&character, line.text.data() + at, line.text.size() - at, &state);
    if (size == 0 || size > line.text.size() - at || !layout.add(character)) {
      return std::nullopt;
    }
    while (part != parts.end() && part->end <= at) {
      drawn += kNoColour;
      ++part;
    }
    if (part != parts.end() && part->begin == at) {
      drawn += part->colour;
    }
    drawn += character == L'\n' ? std::string_view("\r\n") : line.text.substr(at, size);
    at += size;
  }
  if (!cursor && layout.at_edge()) {
    return std::nullopt;
  }
  if (layout.place().row >= screen.rows) {
    return std::nullopt;
  }
  const CaretPlace from = cursor.value_or(layout.place());
  std::string text = "\x1b\x37";
  if (from.row > 0) {
    text += "\x1b[" + std::to_string(from.row) + "A";
  }
  text += "\r\x1b[" + std::to_string(line.prompt) + "C";
  return text + kNoColour + drawn + kNoColour + "\x1b\x38";
}

}  // namespace glovebox::cli
