// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace glovebox {

// Whether the host is so short of memory that what is only made ahead has to be given back. Reads
// /proc/meminfo: some tens of microseconds.
bool memory_is_scarce();

}  // namespace glovebox
