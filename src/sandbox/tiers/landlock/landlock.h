// SPDX-License-Identifier: Apache-2.0
// The landlock tier: for hosts that forbid user namespaces. Landlock, seccomp and rlimits, and a
// cgroup if there is one. The guest sees the host's name, and can find out by guessing which paths
// and process numbers exist; it can open the host's files as far as the rules allow.
#pragma once

#include "sandbox/tiers/tier.h"

namespace glovebox {

class LandlockTier final : public Tier {
 public:
  [[nodiscard]] std::string_view name() const override { return "landlock"; }
  [[nodiscard]] int strength() const override { return 10; }
  [[nodiscard]] TierTraits traits() const override { return {.can_hold_guest_rules = true}; }
  Result<TierFeatures> probe() override;
  Result<Enclosure> enclose(const SandboxSpec& spec) override;
};

}  // namespace glovebox
