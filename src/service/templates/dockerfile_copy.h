// SPDX-License-Identifier: Apache-2.0
// COPY and ADD: what they name in one sandbox, and where it goes in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/templates/build_sandbox.h"

namespace glovebox {

struct CopiedItem {
  enum class Kind { kTree, kFile, kArchive };
  Kind kind = Kind::kFile;
  std::string name;  // Of a file: its own.
  std::uint32_t mode = 0644;
  SpooledFile content;
};

struct CopyRequest {
  std::vector<std::string> sources;  // Relative to `top`; patterns are allowed.
  std::string top;                   // An absolute path, "/" or without a slash at its end.
  bool unpacks = false;              // Whether archives are unpacked, as with ADD.
};

// Reads the sources out of `from`. kInvalid and kUnsupported errors name the source.
Result<std::vector<CopiedItem>> collect(BuildSandbox& from, const CopyRequest& request);

// What was collected, by content; times count only in directories' archives.
Result<std::string> hash_of(const std::vector<CopiedItem>& items);

// Writes them to `target`: into it if it ends with a slash, is a directory, or if there are
// several; otherwise under that name.
Result<void> place(BuildSandbox& into,
                   const std::vector<CopiedItem>& items,
                   const std::string& target);

}  // namespace glovebox
