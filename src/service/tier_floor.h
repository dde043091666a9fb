// SPDX-License-Identifier: Apache-2.0
// The isolation tier that policies demand.
#pragma once

#include <vector>

#include "base/result.h"
#include "guard/policy/policy.h"
#include "sandbox/tiers/tier.h"

namespace glovebox {

// The wish with the highest floor that any of the policies demands. Fails with kRefused for a wish
// that names a weaker tier, and with kInvalid for a policy that names one that does not exist.
Result<TierWish> raise_floor(TierWish wish, const std::vector<policy::Policy>& policies);

}  // namespace glovebox
