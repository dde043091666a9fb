// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/result.h"

namespace glovebox {

// How many sandboxes with root inside (SandboxSpec::as_root) can have other users beside root, at a
// time. Fails with kUnsupported if none can, and says why. For an ordinary user it reads two
// files. Thread-safe.
Result<std::size_t> sandboxes_with_users();

}  // namespace glovebox
