// SPDX-License-Identifier: Apache-2.0
// Tries, once, the modules that contexts of a template will have imported already.
#pragma once

#include "base/result.h"
#include "service/templates/build.h"

namespace glovebox {

// Imports each of the recipe's modules as a zygote does, in a sandbox of the template, and says in
// the log which ones cannot be, and why. Such a template works: its contexts start without them.
// Fails only when the build was canceled.
Result<void> try_preload(const Recipe& recipe,
                         const TemplateParts& parts,
                         const ContentStore& store,
                         BuildMonitor& monitor);

}  // namespace glovebox
