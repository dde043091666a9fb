// SPDX-License-Identifier: Apache-2.0
// The gvisor tier: a kernel of the sandbox's own, written in Go, that runs as an ordinary program
// of the host (gvisor.dev). The guests' system calls reach that kernel and not the host's. Their
// streams go in frames, because no descriptor can leave it.
#pragma once

#include "sandbox/tiers/tier.h"

namespace glovebox {

class GvisorTier final : public Tier {
 public:
  [[nodiscard]] std::string_view name() const override { return "gvisor"; }
  [[nodiscard]] int strength() const override { return 30; }
  [[nodiscard]] TierTraits traits() const override {
    return {.can_filter_network = true, .waits_warm = true};
  }
  Result<TierFeatures> probe() override;
  Result<Enclosure> enclose(const SandboxSpec& spec) override;
  Result<void> save(const Enclosure& enclosure,
                    const std::string& directory,
                    Afterwards afterwards) override;
  Result<Enclosure> load(const SandboxSpec& spec, const std::string& directory) override;
  Result<std::string> memory_format() override;
  [[nodiscard]] std::string manner() const override;
};

}  // namespace glovebox
