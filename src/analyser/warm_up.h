// SPDX-License-Identifier: Apache-2.0
// What a process can do for its analysis before it knows the text.
#pragma once

namespace glovebox::analyser {

// Has the kernel bring in the memory that most analyses need, which would do it page by page while
// somebody waits: the program's code, some heap and some stack. Where it cannot, they come later.
void warm_up();

}  // namespace glovebox::analyser
