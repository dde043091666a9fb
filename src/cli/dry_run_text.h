// SPDX-License-Identifier: Apache-2.0
// A dry run as people read it.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::cli {

// `run` is JSON text as in docs/dry-run.md; everything in it is the guest's. The text ends with a
// line break, and says so if nothing has changed.
std::string dry_run_text(std::string_view run, bool colour);

}  // namespace glovebox::cli
