// SPDX-License-Identifier: Apache-2.0
// The files of a saved sandbox, and a seal over them that tells whether they are what was saved.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// The one more file.
inline constexpr std::string_view kSealOfSavedFiles = "seal.json";

// Notes the names, sizes and hashes of the files in `directory`, and the tier that wrote them, in
// one more file there, and waits until all of it is on the disk.
Result<void> seal_saved_files(const std::string& directory, std::string_view tier);

// kInvalid where the directory holds something else than was sealed, or was sealed for another
// tier; kNotFound where nothing was sealed there.
Result<void> check_saved_files(const std::string& directory, std::string_view tier);

}  // namespace glovebox
