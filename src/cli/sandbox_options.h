// SPDX-License-Identifier: Apache-2.0
// The options of commands that open a sandbox with a live interpreter.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/shared_options.h"
#include "service/runs/live_session.h"

namespace glovebox::cli {

// As typed.
struct SandboxOptionsText : SharedOptionsText {
  std::vector<std::string> packages;
  std::vector<std::string> package_sources;
  std::vector<std::string> package_indexes;
};

void add_options(CLI::App& command, SandboxOptionsText& options);

// Call this once all options are added: each then takes one value, which must not be empty. The
// empty value of a script's unset variable must not pass for an option left out.
void forbid_empty_values(CLI::App& command);

// What the options mean for a session of `language`. There is no wall time limit: the person who
// uses it can interrupt.
Result<LiveSpec> make_live_spec(Language language, const SandboxOptionsText& options);

}  // namespace glovebox::cli
