// SPDX-License-Identifier: Apache-2.0
// Reads a Python program into a tree, as CPython's parser does.
//
// A program that CPython 3.11 to 3.14 run has the same tree here: every construct that one of them
// knows is known. What none of them accepts may pass, which adds facts and hides none. Deep nesting
// is an error well before the stack ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyser/python_tree.h"

namespace glovebox::analyser {

struct PythonTree {
  const PythonNode* module = nullptr;  // Null: see `problem`.
  std::uint32_t nodes = 0;             // The numbers of nodes are below this.
  bool has_magic = false;              // It is a cell of a notebook.
  std::string problem{};               // Why it is not a program, and where.
  std::uint32_t problem_at = 0;
};

// The tree is in `arena` and refers to `text`, which is UTF-8 with plain lines
// (python_lexer.h).
PythonTree parse_python(std::string_view text, Arena& arena);

}  // namespace glovebox::analyser
