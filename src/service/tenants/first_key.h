// SPDX-License-Identifier: Apache-2.0
// The file by which the first API key reaches the person who started the daemon.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox {

// Makes a key and writes it to `path` (mode 0600), on the disk when it answers. A file that is
// there already is taken for what a start wrote that died before it could use it: its key is
// answered, where the file is ours alone (owner, mode, no link) and holds one; else kRefused.
Result<std::string> make_first_key_file(const std::string& path);

}  // namespace glovebox
