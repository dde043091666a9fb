// SPDX-License-Identifier: Apache-2.0
#include "service/tier_floor.h"

#include <string>
#include <utility>

namespace glovebox {

Result<TierWish> raise_floor(TierWish wish, const std::vector<policy::Policy>& policies) {
  for (const policy::Policy& policy : policies) {
    if (policy.min_tier.empty()) {
      continue;
    }
    GB_TRY(raise_floor(TierWish{}, policy.min_tier));  // That there is such a tier.
    auto raised = raise_floor(wish, policy.min_tier);
    if (!raised) {
      return Error(ErrorCode::kRefused,
                   "the policy '" + policy.origin + "' requires tier '" + policy.min_tier +
                       "' or a stronger one",
                   "leave out the tier, or name a stronger one");
    }
    wish = *std::move(raised);
  }
  return wish;
}

}  // namespace glovebox
