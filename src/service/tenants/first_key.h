// SPDX-License-Identifier: Apache-2.0
// Files that hold one key: the first API key, for the person who started the daemon, and the key
// with which doors sign what they hand out.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox {

// Makes a key and writes it to `path` (mode 0600), on the disk when it returns. A file that is
// there already is taken for what a start wrote that died before it could use it: its key is
// answered, where the file is ours alone (owner, mode, no link) and holds one; else kRefused.
Result<std::string> make_key_file(const std::string& path);

}  // namespace glovebox
