// SPDX-License-Identifier: Apache-2.0
// What a root guest is shown of the host's configuration: which files, and copying them.
//
// From /etc it is what package managers need, as far as everybody may read it, and no part of it is
// meant for secrets; from /usr/local the first directories, empty, so that the guest owns them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// Writes the copies into the two directories, which must be empty and ours alone. Returns what they
// came from, for is_unchanged().
Result<std::string> copy_system(int etc, int local);

// Whether copies that `sources` describes are what copy_system() would make now. Also false if
// `sources` is not such a description.
bool is_unchanged(const std::string& sources);

}  // namespace glovebox
