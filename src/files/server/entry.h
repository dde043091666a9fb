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

// Of a name in a directory; its last link is not followed. The path stays empty.
Result<FileEntry> describe(int directory_fd, const std::string& name, const Owners& owners);

// The attributes with our prefix, without it, of the file that a path for calls leads to. Beyond
// the bounds of the protocol they are left out; a file system may have none at all.
std::map<std::string, std::string> attributes_of(const std::string& path);

}  // namespace glovebox::files
