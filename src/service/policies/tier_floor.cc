// SPDX-License-Identifier: Apache-2.0
#include "service/policies/tier_floor.h"

#include <string>
#include <utility>

namespace glovebox {

Result<TierWish> raise_floor(TierWish wish, const policy::Policy& policy) {
  if (policy.min_tier.empty()) {
    return wish;
  }
  GB_TRY(raise_floor(TierWish{}, policy.min_tier));  // Checks that there is such a tier.
  auto raised = raise_floor(std::move(wish), policy.min_tier);
  return raised ? std::move(raised)
                : Error(ErrorCode::kRefused,
                        "the policy '" + policy.origin + "' requires tier '" + policy.min_tier +
                            "' or a stronger one",
                        "leave out the tier, or name a stronger one");
}

}  // namespace glovebox
