// SPDX-License-Identifier: Apache-2.0
// ColourFilter: decides which of a guest's control sequences may reach a terminal.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::cli {

// Lets a guest colour its text, but not drive the terminal: of all control sequences only SGR and
// "erase in line" pass. Sequences may be cut anywhere between two calls.
class ColourFilter {
 public:
  [[nodiscard]] std::string pass(std::string_view bytes);

 private:
  enum class State { kText, kEscape, kControl, kString, kStringEscape, kC1 };
  void take(unsigned char c, std::string& kept);

  State state_ = State::kText;
  std::string sequence_;
};

}  // namespace glovebox::cli
