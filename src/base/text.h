// SPDX-License-Identifier: Apache-2.0
// Text that others chose, made fit for JSON, for terminals and for comparing.
#pragma once

#include <string>
#include <string_view>

namespace glovebox {

[[nodiscard]] bool is_utf8(std::string_view bytes);

// The bytes with every maximal piece that is not UTF-8 replaced by U+FFFD (Unicode 15, 3.9,
// "substitution of maximal subparts").
[[nodiscard]] std::string to_utf8(std::string_view bytes);

// Removes terminal control sequences (ECMA-48: CSI, OSC, DCS, APC, PM, SOS and two-byte escapes)
// from a stream that comes in pieces. Other bytes pass unchanged.
class AnsiStripper {
 public:
  [[nodiscard]] std::string strip(std::string_view bytes);

 private:
  enum class State { kText, kEscape, kControl, kString, kStringEscape };
  State state_ = State::kText;
};

// A text from a guest or a file name, for a message to a person: control characters are escaped,
// so that it can neither move the cursor nor forge a line.
[[nodiscard]] std::string printable(std::string_view bytes);

// Lower case of ASCII letters; other bytes stay.
[[nodiscard]] std::string lower_case(std::string_view text);

}  // namespace glovebox
