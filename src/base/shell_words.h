// SPDX-License-Identifier: Apache-2.0
// Words for a POSIX shell.
#pragma once

#include <string>
#include <string_view>

namespace glovebox {

// `word` in single quotes, in which only the quote itself has a meaning (sh(1p), 2.2.2): the shell
// reads exactly `word`, whatever is in it except NUL bytes.
std::string shell_quoted(std::string_view word);

}  // namespace glovebox
