// SPDX-License-Identifier: Apache-2.0
#include "cli/colour_filter.h"

#include <cstddef>

namespace glovebox::cli {
namespace {

// The longest sequence that any program writes to colour its text.
constexpr std::size_t kMaxSequence = 64;

}  // namespace

std::string ColourFilter::pass(std::string_view bytes) {
  std::string kept;
  kept.reserve(bytes.size());
  for (const char c : bytes) {
    take(static_cast<unsigned char>(c), kept);
  }
  return kept;
}

void ColourFilter::take(unsigned char c, std::string& kept) {
  switch (state_) {
    case State::kText:
      if (c == 0x1b) {
        state_ = State::kEscape;
      } else if (c == 0xc2) {
        state_ = State::kC1;
      } else if (c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\b') {
        kept += static_cast<char>(c);
      }
      return;
    case State::kC1:
      // U+0080 to U+009F are control characters, too.
      state_ = State::kText;
      if (c >= 0xa0) {
        kept += "\xc2";
        kept += static_cast<char>(c);
      } else if (c < 0x80) {
        take(c, kept);
      }
      return;
    case State::kEscape:
      sequence_ = "\x1b[";
      state_ = c == '['                                                   ? State::kControl
               : c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_' ? State::kString
               : c >= 0x20 && c <= 0x2f                                   ? State::kEscape
                                                                          : State::kText;
      return;
    case State::kControl:
      sequence_ += static_cast<char>(c);
      if (c >= 0x40 && c <= 0x7e) {
        const bool plain = sequence_.find_first_not_of("0123456789;:", 2) == sequence_.size() - 1;
        if (plain && (c == 'm' || c == 'K')) {
          kept += sequence_;
        }
        state_ = State::kText;
      } else if (c < 0x20 || sequence_.size() > kMaxSequence) {
        state_ = State::kText;
      }
      return;
    case State::kString:
      state_ = c == 0x07 ? State::kText : c == 0x1b ? State::kStringEscape : State::kString;
      return;
    case State::kStringEscape:
      state_ = c == '\\' ? State::kText : State::kString;
      return;
  }
}

}  // namespace glovebox::cli
