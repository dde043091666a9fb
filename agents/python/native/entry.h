// SPDX-License-Identifier: Apache-2.0
// From a fork of the zygote to a guest of its sandbox: the steps between, in one straight line.
#pragma once

#include <span>

#include "base/unique_fd.h"
#include "context/zygote_protocol.h"

namespace glovebox::zygote {

// Which descriptors came with a request, by their place.
enum Place : std::size_t { kWarden, kChannel, kOut, kErr, kFirstCgroup };

// Makes this process, a fresh fork, a process of the sandbox: its cgroups, namespaces, identity,
// descriptors (0 to 3, all others are closed), limits and walls. Answers zero, or a negative errno
// and the name of the step that failed; the process must end then.
struct Entered {
  long result = 0;
  const char* step = "";
};
Entered enter_sandbox(const ForkRequest& request, std::span<const UniqueFd> passed);

}  // namespace glovebox::zygote
