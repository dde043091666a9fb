// SPDX-License-Identifier: Apache-2.0
// The native tier: every namespace that Linux has, an own root, Landlock and seccomp.
#pragma once

#include "sandbox/tiers/tier.h"

namespace glovebox {

class NativeTier final : public Tier {
 public:
  [[nodiscard]] std::string_view name() const override { return "native"; }
  [[nodiscard]] int strength() const override { return 20; }
  [[nodiscard]] TierTraits traits() const override {
    return {.can_lend = true,
            .can_hold_realms = true,
            .can_place_mounts = true,
            .can_hold_guest_rules = true,
            .can_filter_network = true};
  }
  Result<TierFeatures> probe() override;
  Result<Enclosure> enclose(const SandboxSpec& spec) override;
};

}  // namespace glovebox
