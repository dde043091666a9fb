// SPDX-License-Identifier: Apache-2.0
// Directories and what is below them. Every step goes from a held directory to a name in it,
// without following links, so a directory that is swapped for a link meanwhile is a link.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::files {

// Deeper than this, a walk would hold too many descriptors.
inline constexpr std::size_t kMaxDepth = 200;

// Names in a directory, in lexical order, without "." and "..". `fd` may be O_PATH.
Result<std::vector<std::string>> names_in(int fd);

// A directory in a directory, held by O_PATH; its last link is not followed.
Result<UniqueFd> enter(int directory_fd, const std::string& name);

// Calls `visit` with each name below a directory, each directory before what is in it; `visit`
// returns whether to enter it, which only directories can be. What vanishes meanwhile, or may not
// be read, is passed over. kExhausted beyond kMaxDepth.
struct Visited {
  int directory_fd;
  const std::string& name;
  const std::string& path;  // From where the walk began.
  std::size_t depth;        // 1 directly below.
};
using Visit = std::function<Result<bool>(const Visited&)>;
Result<void> walk(int directory_fd, const Visit& visit);

// Removes a name with all that is below it, however deep. `working` is called now and then.
Result<void> remove_tree(int directory_fd,
                         const std::string& name,
                         const std::function<void()>& working);

// Copies a file, link or directory with all that is below to a new name elsewhere: contents, modes,
// times and our attributes. kUnsupported for anything else.
Result<void> copy_tree(int from_fd,
                       const std::string& from,
                       int to_fd,
                       const std::string& to,
                       const std::function<void()>& working);

// A name that is most likely unused: `prefix` and random letters.
std::string random_name(std::string_view prefix);

}  // namespace glovebox::files
