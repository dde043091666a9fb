// SPDX-License-Identifier: Apache-2.0
// Asks a yes-or-no question at the terminal.
#pragma once

#include <string_view>

namespace glovebox::cli {

// Whether somebody can be asked: standard input and standard error are terminals.
bool has_person();

// Prints the question with "[y/N]" and reads a line. The end of input means no, and so does
// `cancel_fd` becoming readable, unless it is -1.
bool person_agrees(std::string_view question, int cancel_fd = -1);

}  // namespace glovebox::cli
