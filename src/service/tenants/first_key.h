// SPDX-License-Identifier: Apache-2.0
// Files that hold one key: the first API key, for the person who started the daemon, and the key
// with which doors sign what they hand out.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox {

// Makes a key and writes it to `path` (mode 0600); it is on the disk on return. A file that is
// already there is taken as that of a start that died before it could use it: its key is returned
// if the file is ours alone (owner, mode, no link) and holds one; otherwise kRefused.
Result<std::string> make_key_file(const std::string& path);

}  // namespace glovebox
