// SPDX-License-Identifier: Apache-2.0
// The files of a saved sandbox, and a seal over them that tells whether they are what was saved.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// The extra file that holds the seal.
inline constexpr std::string_view kSealOfSavedFiles = "seal.json";

// Notes the names, sizes and hashes of the files in `directory`, and the tier that wrote them, in
// an extra file there, and waits until all of it is on the disk.
Result<void> seal_saved_files(const std::string& directory, std::string_view tier);

// kInvalid if the directory does not hold exactly what was sealed, or was sealed for another tier;
// kNotFound if nothing was sealed there.
Result<void> check_saved_files(const std::string& directory, std::string_view tier);

}  // namespace glovebox
