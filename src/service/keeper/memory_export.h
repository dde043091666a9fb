// SPDX-License-Identifier: Apache-2.0
// A saved sandbox on its way out of a data directory, and into another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "service/keeper/export_key.h"

namespace glovebox::keeper {

struct MemoryExport {
  std::string manifest;         // One line of JSON, with the names, sizes and hashes of the files.
  std::string signature;        // Over that.
  std::vector<UniqueFd> files;  // In the order of the manifest; for reading.
};

// Exports the directory `saved`; kInvalid if it does not hold what its seal says. `order` is the
// daemon's JSON that says what else the sandbox was made with; it is the manifest's "sandbox".
Result<MemoryExport> export_memory(const ExportKey& key,
                                   const std::string& saved,
                                   std::string_view tier,
                                   std::string_view order);

// Writes the files of `manifest`, which follow each other from the beginning of `content`, into the
// directory `to`, which must not be there yet. Nothing of the manifest is read before its signature
// is verified: kRefused if it is wrong. kUnsupported if another program than this machine's wrote
// the memory; kInvalid if the content is not what was signed, and then nothing is left.
Result<void> import_memory(const ExportKey& key,
                           std::string_view manifest,
                           std::string_view signature,
                           int content,
                           const std::string& to);

}  // namespace glovebox::keeper
