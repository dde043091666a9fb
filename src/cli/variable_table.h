// SPDX-License-Identifier: Apache-2.0
// The variables of a context as a table for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glovebox::cli {

// `reply` is what an agent answers to kVariables, as hostile as everything that a guest says. Lines
// are cut to `columns` characters; 0 is no limit. Empty if there are no variables.
std::string variable_table(std::string_view reply, std::size_t columns);

}  // namespace glovebox::cli
