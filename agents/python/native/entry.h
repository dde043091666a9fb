// SPDX-License-Identifier: Apache-2.0
// The steps that turn a fork of the zygote into a guest of its sandbox, in one straight line.
#pragma once

#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "context/zygote_protocol.h"

namespace glovebox::zygote {

// Which descriptors came with a request, by their place.
enum Place : std::size_t { kWarden, kChannel, kOut, kErr, kFirstCgroup };

// The descriptors of files that libraries of the zygote have open for reading, in ascending order:
// matplotlib reads its fonts when it needs a letter.
std::vector<int> library_files();

// Makes this process, a fresh fork (forking.h), a process of the sandbox: its cgroups, namespaces,
// identity, descriptors, limits and walls. It is undumpable until all of these are in place. Only
// its descriptors 0 to 3 and `files` stay open; the latter get open file descriptions of their own,
// so that forks do not move each other's offsets. Returns zero, or a negative errno and the name of
// the step that failed; the process must end then.
struct Entered {
  long result = 0;
  const char* step = "";
};
Entered enter_sandbox(const ForkRequest& request,
                      std::span<const UniqueFd> passed,
                      std::span<const int> files);

}  // namespace glovebox::zygote
