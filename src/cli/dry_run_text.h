// SPDX-License-Identifier: Apache-2.0
// A dry run as people read it, and their decision about it.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::cli {

// `run` is JSON text as in docs/dry-run.md; all that is in it is the guest's. Ends with a line
// break, and says so when nothing has changed.
std::string dry_run_text(std::string_view run, bool colour);

// Asks at the terminal. The end of input is no, and so is `cancel_fd` when it becomes readable.
bool person_commits(int cancel_fd);
// Whether there is a terminal for that.
bool has_person();

}  // namespace glovebox::cli
