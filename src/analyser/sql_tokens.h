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
    kName,     // A word, or a name in quotes; without the quotes, in lower case.
    kText,     // '…', without its quotes.
    kBlob,     // x'…': its digits.
    kNumber,   // In lower case.
    kMark,     // One character of anything else, or "||".
    kCommand,  // A line that is a command of the shell itself, as it is written.
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
  std::string failure{};  // What is not closed; empty: nothing.
};

[[nodiscard]] SqlTokens sql_tokens(std::string_view text);

// The words of a line that is a command of the shell itself.
[[nodiscard]] std::vector<std::string> sql_command_words(std::string_view line);

}  // namespace glovebox::analyser
