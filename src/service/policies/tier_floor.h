// SPDX-License-Identifier: Apache-2.0
// The isolation tier that a policy demands.
#pragma once

#include "base/result.h"
#include "guard/policy/policy.h"
#include "sandbox/tiers/tier.h"

namespace glovebox {

// The wish with the floor that the policy demands, if any. Fails with kRefused for a wish that
// names a weaker tier, and with kInvalid for a policy that names one that does not exist.
Result<TierWish> raise_floor(TierWish wish, const policy::Policy& policy);

}  // namespace glovebox
