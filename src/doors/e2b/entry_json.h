// SPDX-License-Identifier: Apache-2.0
// Files as filesystem.EntryInfo shows them.
#pragma once

#include <string>
#include <string_view>

#include "doors/e2b/fields.h"
#include "files/file_client.h"

namespace glovebox::e2b {

// `target_mode` is the mode of a link's target; not used for other entries.
Json entry_json(const FileEntry& entry, std::uint32_t target_mode = 0);

// The same; looks up the mode of a link's target.
Json resolved_entry_json(FileClient& files, const FileEntry& entry);

std::string_view last_name(std::string_view path);

}  // namespace glovebox::e2b
