// SPDX-License-Identifier: Apache-2.0
// The docker tier: each sandbox is a container of an engine that runs on this machine.
#pragma once

#include "sandbox/tiers/tier.h"

namespace glovebox {

class DockerTier final : public Tier {
 public:
  [[nodiscard]] std::string_view name() const override { return "docker"; }
  [[nodiscard]] int strength() const override { return 15; }
  [[nodiscard]] TierTraits traits() const override { return {.can_filter_network = true}; }
  Result<TierFeatures> probe() override;
  Result<Enclosure> enclose(const SandboxSpec& spec) override;
  Result<void> sweep(std::string_view note) override;
};

}  // namespace glovebox
