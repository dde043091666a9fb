// SPDX-License-Identifier: Apache-2.0
// Several descriptors as one that can be waited for.
#pragma once

#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// Readable as soon as one of `fds` is, or as soon as the other side of one has closed its end. Of
// `only_ends` only the closing counts: what can be read there is for somebody else. All of them
// must stay open at least as long.
Result<UniqueFd> readable_with(std::span<const int> fds, std::span<const int> only_ends);

}  // namespace glovebox::sys
