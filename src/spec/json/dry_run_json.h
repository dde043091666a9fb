// SPDX-License-Identifier: Apache-2.0
// Dry runs as JSON: the public form that every door speaks (docs/dry-run.md).
#pragma once

#include <string>

#include "spec/dry_run.h"

namespace glovebox {

// An object in one line, always valid UTF-8.
std::string to_json(const DryRun& run);

}  // namespace glovebox
