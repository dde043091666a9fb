// SPDX-License-Identifier: Apache-2.0
// A sandbox out of the user's pool (service/run_pool/sandbox_pool.h).
#pragma once

#include <memory>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace glovebox {

// One as `spec` and `wish` say. Fails with kUnavailable when there is no pool, it has none such
// left, or it lives where sandboxes are others; Sandbox::create() is the way then.
Result<std::unique_ptr<Sandbox>> claim_from_pool(const SandboxSpec& spec, const TierWish& wish);

}  // namespace glovebox
