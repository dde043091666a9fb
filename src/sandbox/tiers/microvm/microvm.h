// SPDX-License-Identifier: Apache-2.0
// The microvm tier: a virtual machine for each sandbox, with a Linux kernel of its own. QEMU is the
// guest of a native sandbox; the machine sees that sandbox's files, read-only, and builds walls of
// its own around its guests. Their streams go in frames, because no descriptor can leave it.
#pragma once

#include "sandbox/tiers/tier.h"

namespace glovebox {

class MicrovmTier final : public Tier {
 public:
  [[nodiscard]] std::string_view name() const override { return "microvm"; }
  [[nodiscard]] int strength() const override { return 40; }
  // QEMU emulates the processors, which is slow: only those who ask for it get it.
  [[nodiscard]] TierTraits traits() const override {
    return {.can_filter_network = true, .waits_warm = true, .only_by_name = true};
  }
  Result<TierFeatures> probe() override;
  Result<Enclosure> enclose(const SandboxSpec& spec) override;
  Result<void> save(const Enclosure& enclosure,
                    const std::string& directory,
                    Afterwards afterwards) override;
  Result<Enclosure> load(const SandboxSpec& spec, const std::string& directory) override;
};

}  // namespace glovebox
