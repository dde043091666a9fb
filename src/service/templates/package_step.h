// SPDX-License-Identifier: Apache-2.0
// Packages of a template: installed once, with the interpreter of the template's own root.
#pragma once

#include <vector>

#include "base/result.h"
#include "service/templates/build.h"

namespace glovebox {

struct PackageContent {
  PackageManager manager = PackageManager::kPip;
  Content content;  // Has "files".
  bool cached = false;
};

// A layer for each package manager that the recipe names.
Result<std::vector<PackageContent>> install_for_template(const Recipe& recipe,
                                                         const TemplateParts& parts,
                                                         const ContentStore& store,
                                                         BuildMonitor& monitor);

}  // namespace glovebox
