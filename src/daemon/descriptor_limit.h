// SPDX-License-Identifier: Apache-2.0
// How many descriptors this process may have.
#pragma once

#include <cstddef>

namespace glovebox {

// Raises the soft limit to the hard one (getrlimit(2)): shells and service managers leave it at
// 1024 for programs that use select(2), which this program does not. Also raises a low hard limit
// if this process may (CAP_SYS_RESOURCE). Returns the limit that is then in effect.
std::size_t raise_descriptor_limit();

}  // namespace glovebox
