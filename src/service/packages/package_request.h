// SPDX-License-Identifier: Apache-2.0
// PackageRequest: one package that a caller wants, by name. What was typed here ends up in the
// command line of a package manager, so nothing but a name and a version comes through.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox {

enum class PackageManager { kPip, kNpm };

// "pip" or "npm".
std::string_view to_string(PackageManager manager);

struct PackageRequest {
  PackageManager manager = PackageManager::kPip;
  std::string name;     // Of pip: normalised, as PEP 503 does it.
  std::string version;  // Exactly this one; empty: the newest that there is.

  // As the manager takes it: "six==1.16.0", "left-pad@1.3.0".
  [[nodiscard]] std::string specifier() const;

  friend auto operator<=>(const PackageRequest&, const PackageRequest&) = default;
};

// Reads "pip:NAME[==VERSION]" and "npm:NAME[@VERSION]", several of them with commas between.
// Returns them in order, each once. Fails with kInvalid on paths, URLs, options and version ranges,
// and if two versions of a package are wanted.
Result<std::vector<PackageRequest>> parse_packages(const std::vector<std::string>& texts);

}  // namespace glovebox
