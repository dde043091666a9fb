// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/stream_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace glovebox::notebook {
namespace {

// A longer line is text without line ends, not a progress bar: what it has become so far is final.
constexpr std::size_t kMaxGlyphs = 16'384;
constexpr std::size_t kMaxSequence = 256;
constexpr char kAnsiEscape = '\x1b';

}  // namespace

void StreamText::add(std::string_view piece) {
  // Most output has whole lines and no cursor movement.
  if (line_.empty() && partial_.empty() && !in_sequence_ && sequence_.empty() &&
      piece.find_first_of("\r\b") == std::string_view::npos) {
    const std::size_t end = piece.rfind('\n') + 1;
    finished_ += piece.substr(0, end);
    piece.remove_prefix(end);
  }
  for (const char c : piece) {
    if (!partial_.empty()) {
      if (continues_character(c)) {
        partial_ += c;
        if (partial_.size() == length_of_character(partial_.front())) {
          put(partial_);
          partial_.clear();
        }
        continue;
      }
      put(partial_);
      partial_.clear();
    }
    if (in_sequence_ && c != '\n') {
      sequence_ += c;
      // "ESC [" continues up to a final byte; of other sequences two bytes are enough to know.
      const bool is_control = sequence_.size() >= 2 && sequence_[1] == '[';
      const bool ends = is_control ? sequence_.size() > 2 && c >= '@' && c <= '~' : true;
      in_sequence_ = !ends && sequence_.size() < kMaxSequence;
    } else if (c == kAnsiEscape) {
      sequence_ += c;
      in_sequence_ = true;
      if (sequence_.size() > kMaxSequence) {
        put("");
      }
    } else if (c == '\n') {
      in_sequence_ = false;  // Cut off by a line end: not a sequence.
      end_line();
    } else if (c == '\r') {
      cursor_ = 0;
    } else if (c == '\b') {
      cursor_ -= cursor_ > 0 ? 1U : 0U;
    } else if (length_of_character(c) > 1) {
      partial_ = c;
    } else {
      put(std::string_view(&c, 1));
    }
  }
}

void StreamText::put(std::string_view character) {
  std::string glyph = std::move(sequence_);
  sequence_.clear();
  glyph += character;
  if (cursor_ == line_.size() && cursor_ >= kMaxGlyphs) {
    for (const Glyph& old : line_) {
      finished_ += old;
    }
    line_.clear();
    line_bytes_ = 0;
    cursor_ = 0;
  }
  line_bytes_ += glyph.size();
  if (cursor_ < line_.size()) {
    line_bytes_ -= line_[cursor_].size();
    line_[cursor_] = std::move(glyph);
  } else {
    line_.push_back(std::move(glyph));
  }
  ++cursor_;
}

void StreamText::end_line() {
  for (const Glyph& glyph : line_) {
    finished_ += glyph;
  }
  finished_ += sequence_;
  finished_ += '\n';
  sequence_.clear();
  line_.clear();
  line_bytes_ = 0;
  cursor_ = 0;
}

std::string StreamText::text() const {
  std::string text = finished_;
  text.reserve(size() + sequence_.size() + partial_.size());
  for (const Glyph& glyph : line_) {
    text += glyph;
  }
  return text + sequence_ + partial_;
}

}  // namespace glovebox::notebook
