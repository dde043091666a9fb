// SPDX-License-Identifier: Apache-2.0
// StreamText: what a terminal would show of a stream that returns the carriage and steps back, as
// progress bars do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::notebook {

// Characters that follow a carriage return or a backspace take the place of those that stand there;
// a line end keeps the whole line, wherever the cursor is. Each piece costs time in proportion to
// its own length.
class StreamText {
 public:
  // Pieces may end within a UTF-8 character or a control sequence.
  void add(std::string_view piece);

  // The text so far; what is left unfinished at its end is part of it.
  [[nodiscard]] std::string text() const;

  // Bytes of text(), or somewhat more.
  [[nodiscard]] std::size_t size() const { return finished_.size() + line_bytes_; }

 private:
  // One character with the control sequences in front of it, which are replaced together with it.
  using Glyph = std::string;

  void put(std::string_view character);
  void end_line();

  std::string finished_;
  std::vector<Glyph> line_;
  std::size_t cursor_ = 0;
  std::size_t line_bytes_ = 0;
  std::string partial_;  // The beginning of a character.
  std::string sequence_;
  bool in_sequence_ = false;
};

}  // namespace glovebox::notebook
