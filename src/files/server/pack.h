// SPDX-License-Identifier: Apache-2.0
// Directories as archives, over libarchive.
#pragma once

#include <string_view>

#include "base/result.h"
#include "files/file_client.h"
#include "files/server/channel.h"
#include "files/server/upload.h"

namespace glovebox::files {

// Sends what is below a directory as kData frames. What is not a file, directory or link is left
// out, and so is what vanishes or may not be read.
Result<void> pack(std::string_view path, FileClient::ArchiveFormat format, Channel& channel);

// Makes what an archive holds below a directory, made if missing. Stops, naming the entry, at
// absolute names, "..", devices, and what would go through a link. Replaces files and links.
Result<void> unpack(std::string_view path, Upload& upload);

}  // namespace glovebox::files
