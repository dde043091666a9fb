// SPDX-License-Identifier: Apache-2.0
// What is known of one file.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>

#include "base/result.h"
#include "files/file_client.h"
#include "files/server/owners.h"

namespace glovebox::files {

// What is known of a name in a directory; a link is not followed. The path stays empty.
Result<FileEntry> describe(int directory_fd, const std::string& name, const Owners& owners);

// The attributes with our prefix, which is left off, of the file at `path`, as path_of() gives it.
// Attributes beyond the bounds of the protocol are left out; a file system may have none at all.
std::map<std::string, std::string> attributes_of(const std::string& path);

}  // namespace glovebox::files
