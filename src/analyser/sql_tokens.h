// SPDX-License-Identifier: Apache-2.0
// A script for SQLite's shell, cut into tokens as SQLite and its shell cut it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::analyser {

struct SqlToken {
  enum class Kind : std::uint8_t {
    kName,     // A word, or a name in quotes; without them, in small letters.
    kText,     // '…', without its quotes.
    kBlob,     // x'…': its digits.
    kNumber,   // As it is written.
    kMark,     // One character of anything else, and "||".
    kCommand,  // A line of the shell's own, as it is written.
  };
  Kind kind{};
  std::string text{};
  std::size_t at = 0;

  [[nodiscard]] bool is(Kind wanted, std::string_view what) const {
    return kind == wanted && text == what;
  }
};

struct SqlTokens {
  std::vector<SqlToken> tokens{};
  std::string failure{};  // What does not end; empty: nothing.
};

[[nodiscard]] SqlTokens sql_tokens(std::string_view text);

// The words of a line of the shell's own.
[[nodiscard]] std::vector<std::string> sql_command_words(std::string_view line);

}  // namespace glovebox::analyser
