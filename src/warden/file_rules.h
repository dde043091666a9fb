// SPDX-License-Identifier: Apache-2.0
// Landlock's rules for the files of a sandbox whose warden builds its walls itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::warden {

// The same rules as the native tier's (sandbox/tiers/native/root_plan.cc), for this process and
// whatever it starts: everything may be read and executed, `written` and `store` may be written,
// and the `archiver`, which has no path any more, may be executed. Returns the ABI of the kernel's
// Landlock, or 0 if it has none (gVisor). Requires no_new_privs.
Result<std::uint32_t> restrict_files(const std::vector<std::string>& written,
                                     int archiver,
                                     int store);

}  // namespace glovebox::warden
