// SPDX-License-Identifier: Apache-2.0
// The command line as the parser takes it, from the forms in which people and scripts write it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace glovebox::cli {

// Returns the words of `argv`, with a null pointer behind the last, after these replacements:
//   glovebox help COMMAND…   glovebox COMMAND… --help
//   glovebox version         glovebox --version
//   glovebox FILE …          glovebox run FILE …, unless FILE is one of `commands`
//   glovebox run … FILE …    glovebox run … -- FILE …, if FILE's first line names glovebox as its
//                            interpreter: the kernel adds the words behind FILE, and they are the
//                            script's
// The caller still owns the words.
std::vector<char*> read_command_line(int argc,
                                     char** argv,
                                     std::span<const std::string_view> commands);

}  // namespace glovebox::cli
