// SPDX-License-Identifier: Apache-2.0
// The landlock tier: for hosts that forbid user namespaces. Landlock, seccomp and rlimits, and the
// cgroup where there is one. The guest sees the host's name, and by guessing which paths and
// process numbers exist; it opens files of the host as far as the rules let it.
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
