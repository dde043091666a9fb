// SPDX-License-Identifier: Apache-2.0
// The wasm tier: WebAssembly modules, and interpreters compiled to WebAssembly, in a runner of ours
// (sandbox/wasm/) that is the guest of a native sandbox.
#pragma once

#include "sandbox/tiers/tier.h"

namespace glovebox {

class WasmTier final : public Tier {
 public:
  [[nodiscard]] std::string_view name() const override { return "wasm"; }
  [[nodiscard]] int strength() const override { return 25; }
  [[nodiscard]] TierTraits traits() const override {
    return {.runs_elf = false,
            .is_deterministic = true,
            .forks_own_interpreters = true,
            .only_by_name = true};
  }
  Result<TierFeatures> probe() override;
  Result<Enclosure> enclose(const SandboxSpec& spec) override;
  Result<WarmInterpreter> warm_interpreter(std::string_view program) override;
};

}  // namespace glovebox
