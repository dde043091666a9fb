// SPDX-License-Identifier: Apache-2.0
// Facts about a Python program: what it imports, calls and opens, which hosts and commands it
// names.
#pragma once

#include <optional>
#include <string_view>

#include "analyser/facts.h"
#include "analyser/inside.h"

namespace glovebox::analyser {

// Adds what `code`, which is UTF-8, may do. It is read as CPython reads it, or as a cell of a
// notebook if some of its lines are meant for IPython. What is not a program, or is too large or
// too entangled to follow, is a fact "unparsed". Names are followed through imports, assignments
// and constant expressions wherever they are; what only a running program knows is a fact
// "pattern". `inside` is for code inside another text.
void analyse_python(std::string_view code, std::optional<Inside> inside, Facts& facts);

}  // namespace glovebox::analyser
