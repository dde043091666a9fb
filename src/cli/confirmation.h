// SPDX-License-Identifier: Apache-2.0
// A question at the terminal that is answered with yes or no.
#pragma once

#include <string_view>

namespace glovebox::cli {

// Whether somebody can be asked: standard input and standard error are terminals.
bool has_person();

// Prints the question with "[y/N]" and reads a line. The end of input is no, and so is `cancel_fd`,
// unless it is -1, when it becomes readable.
bool person_agrees(std::string_view question, int cancel_fd = -1);

}  // namespace glovebox::cli
