// SPDX-License-Identifier: Apache-2.0
// Several descriptors as one that can be waited for.
#pragma once

#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// Readable as soon as one of them is, or as soon as its other side has closed its end. With
// `only_ends`, of these only the end counts: what is to be read there is for somebody else.
// They stay open at least as long.
Result<UniqueFd> readable_with(std::span<const int> fds, std::span<const int> only_ends);

}  // namespace glovebox::sys
