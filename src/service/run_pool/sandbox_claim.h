// SPDX-License-Identifier: Apache-2.0
// A sandbox out of the user's pool (service/run_pool/sandbox_pool.h).
#pragma once

#include <memory>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace glovebox {

// A sandbox as `spec` and `wish` say. Fails with kUnavailable if there is no pool, if it has none
// such left, or if its surroundings make sandboxes different; use Sandbox::create() then.
Result<std::unique_ptr<Sandbox>> claim_from_pool(const SandboxSpec& spec, const TierWish& wish);

}  // namespace glovebox
