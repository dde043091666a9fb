// SPDX-License-Identifier: Apache-2.0
// Patches on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::cli {

// A patch for a terminal: with `colour`, coloured by us, but never by its author, whose control
// characters are escaped. Long lines are cut.
std::string shown_patch(std::string_view patch, bool colour);

}  // namespace glovebox::cli
