// SPDX-License-Identifier: Apache-2.0
// What a process can do for its analysis before it knows the text.
#pragma once

namespace glovebox::analyser {

// Has the kernel bring in the memory that most analyses need: the program's code, some heap and
// some stack. Pages that it does not bring in now come one by one later, while somebody waits.
void warm_up();

}  // namespace glovebox::analyser
