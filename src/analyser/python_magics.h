// SPDX-License-Identifier: Apache-2.0
// The lines and cells of a notebook that IPython handles before Python sees them.
#pragma once

#include <cstddef>
#include <string_view>

#include "analyser/facts.h"
#include "analyser/inside.h"

namespace glovebox::analyser {

// How many characters precede the Python that a line like "%timeit -n 3 f()" runs; 0: it runs none.
// That code belongs to the cell and knows its names.
std::size_t before_timed_code(std::string_view line);
// Any other line: "!ls", "%cd x".
void analyse_magic(std::string_view line, Inside inside, Facts& facts);
// Whether all of a cell belongs to the magic in its first line, and is not Python: "%%bash".
bool is_foreign_cell(std::string_view code);
void analyse_foreign_cell(std::string_view code, Inside inside, Facts& facts);

}  // namespace glovebox::analyser
