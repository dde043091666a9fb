// SPDX-License-Identifier: Apache-2.0
// How a cell ended, in words.
#pragma once

#include <string>
#include <string_view>

#include "context/context.h"

namespace glovebox::cli {

// What ended an execution that did not end well, in words: "the time limit", "out of memory", …
[[nodiscard]] std::string describe(const Execution& execution, std::string_view language);

}  // namespace glovebox::cli
