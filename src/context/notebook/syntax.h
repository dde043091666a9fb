// SPDX-License-Identifier: Apache-2.0
// What the highlighter has to know about a language.
#pragma once

#include <span>
#include <string_view>

namespace glovebox::notebook {

struct Syntax {
  std::span<const std::string_view> keywords;   // Sorted.
  std::span<const std::string_view> constants;  // Sorted: literals and built-in names.
  std::string_view line_comment;
  std::string_view block_comment;  // Opening and closing mark, with a blank between; or empty.
  std::string_view quotes;         // Characters that delimit strings.
  std::string_view long_quotes;    // Those of them that may span lines when alone.
  bool triple_quotes = false;      // Three quotes delimit a string that may span lines.
  bool escapes = true;             // A backslash escapes the next character in a string.
  bool ignores_case = false;       // Keywords are in lower case here.
  bool decorators = false;         // "@name"
  bool magics = false;             // "%magic" and "!command" at the beginning of a line.
  bool variables = false;          // "$name" and "${name}"
  bool preprocessor = false;       // "#word" at the beginning of a line.
  bool dots_in_names = false;      // As in R.
};

// Null for a language that is not known. Names are those of Jupyter, Markdown fences and files.
[[nodiscard]] const Syntax* find_syntax(std::string_view language);

}  // namespace glovebox::notebook
