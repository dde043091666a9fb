// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "sandbox/tiers/docker/docker.h"
#include "sandbox/tiers/gvisor/gvisor.h"
#include "sandbox/tiers/landlock/landlock.h"
#include "sandbox/tiers/microvm/microvm.h"
#include "sandbox/tiers/native/native.h"
#include "sandbox/tiers/tier.h"
#include "sandbox/tiers/wasm/wasm.h"

namespace glovebox {
namespace {

constexpr std::string_view kDefaultFloor = "native";
constexpr std::string_view kStrongest = "auto";

// `others` are names that are not a tier's but would do as well, for the hint.
Result<Tier*> find_tier(std::string_view name, std::string_view others = {}) {
  std::string known(others);
  for (Tier* const tier : all_tiers()) {
    if (tier->name() == name) {
      return tier;
    }
    known += known.empty() ? "" : ", ";
    known += tier->name();
  }
  return Error(ErrorCode::kInvalid, "unknown tier '" + std::string(name) + "'",
               "use one of: " + known);
}

Error keeps_no_memory(std::string_view tier) {
  return {ErrorCode::kUnsupported,
          "the " + std::string(tier) + " tier cannot save the memory of a sandbox",
          "use the gvisor tier, with the daemon run by root"};
}

}  // namespace

Result<void> Tier::save(const Enclosure& /*enclosure*/,
                        const std::string& /*directory*/,
                        Afterwards /*afterwards*/) {
  return keeps_no_memory(name());
}

Result<Enclosure> Tier::load(const SandboxSpec& /*spec*/, const std::string& /*directory*/) {
  return keeps_no_memory(name());
}

Result<Tier*> tier_named(std::string_view name) { return find_tier(name); }

const std::vector<Tier*>& all_tiers() {
  static NativeTier native;
  static GvisorTier gvisor;
  static DockerTier docker;
  static LandlockTier landlock;
  static WasmTier wasm;
  static MicrovmTier microvm;
  static const std::vector<Tier*> kTiers = {&microvm, &gvisor, &wasm, &native, &docker, &landlock};
  return kTiers;
}

Result<std::vector<Tier*>> candidate_tiers(const TierWish& wish) {
  const Tier* const floor =
      GB_TRY(find_tier(wish.at_least.empty() ? kDefaultFloor : std::string_view(wish.at_least)));
  if (!wish.exactly.empty() && wish.exactly != kStrongest) {
    Tier* const tier = GB_TRY(find_tier(wish.exactly, kStrongest));
    if (!wish.at_least.empty() && tier->strength() < floor->strength()) {
      return Error(
          ErrorCode::kInvalid,
          "tier '" + wish.exactly + "' is weaker than the minimum tier '" + wish.at_least + "'",
          "leave out one of the two options");
    }
    return std::vector<Tier*>{tier};
  }
  const int preferred = GB_TRY(find_tier(kDefaultFloor))->strength();
  std::vector<Tier*> tiers;
  for (Tier* const tier : all_tiers()) {
    const TierTraits traits = tier->traits();
    const bool fits = !traits.only_by_name || (tier == floor && traits.runs_elf);
    if (tier->strength() >= floor->strength() && fits) {
      tiers.push_back(tier);
    }
  }
  if (wish.exactly == kStrongest) {
    return tiers;
  }
  // Stronger ones ascending, because the weakest of them is the quickest; weaker ones descending.
  std::ranges::stable_sort(tiers, {}, [preferred](const Tier* tier) {
    const int strength = tier->strength();
    return strength >= preferred ? strength - preferred : 1'000'000 - strength;
  });
  return tiers;
}

Result<TierWish> raise_floor(TierWish wish, std::string_view tier) {
  const Tier* const floor = GB_TRY(find_tier(tier));
  if (wish.at_least.empty() || GB_TRY(find_tier(wish.at_least))->strength() < floor->strength()) {
    wish.at_least = floor->name();
  }
  GB_TRY(candidate_tiers(wish));
  return wish;
}

TierWish tier_that(bool TierTraits::*can) {
  const std::string_view weakest = all_tiers().back()->name();
  auto tiers = candidate_tiers({.at_least = std::string(weakest)});
  GB_CHECK(tiers.has_value());
  tiers->insert(tiers->end(), all_tiers().begin(), all_tiers().end());
  const auto found =
      std::ranges::find_if(*tiers, [can](const Tier* tier) { return tier->traits().*can; });
  GB_CHECK(found != tiers->end());
  return {.exactly = std::string((*found)->name())};
}

Result<void> refuse_what_native_alone_has(const SandboxSpec& spec, std::string_view tier) {
  const auto refuse = [tier](std::string_view what, std::string_view instead) {
    return Error(ErrorCode::kUnsupported, "the " + std::string(tier) + " tier " + std::string(what),
                 "use the native tier" + std::string(instead));
  };
  if (spec.realm || (spec.within != nullptr && !traits_of(tier).forks_own_interpreters)) {
    return refuse("cannot fork a sandbox from a warm interpreter", "");
  }
  if (spec.as_root) {
    return refuse("has no guests that are root", ", or leave out --user root");
  }
  if (spec.nested) {
    return refuse("has no sandboxes inside sandboxes", ", or leave out --nested");
  }
  if (spec.egress_port != 0 && !traits_of(tier).can_filter_network) {
    return refuse("has no network to filter", ", or leave out the network rules");
  }
  if (!spec.rules.empty() && !traits_of(tier).can_hold_guest_rules) {
    return refuse("does not enforce the rules of a policy for commands and files",
                  " or the landlock tier");
  }
  if (!spec.attachments.empty() || spec.root_disk) {
    return refuse("cannot mount volumes", " as root, or a workspace in memory");
  }
  if (!spec.root.empty()) {
    return refuse("does not show templates with their own root", " for this template");
  }
  return {};
}

TierTraits traits_of(std::string_view name) {
  const auto tier = find_tier(name);
  return tier ? (*tier)->traits() : TierTraits{};
}

bool first_choice_can(const TierWish& wish, bool TierTraits::*can) {
  const auto tiers = candidate_tiers(wish);
  return tiers && tiers->front()->traits().*can;
}

Result<Tier::WarmInterpreter> warm_interpreter_of(const TierWish& wish, std::string_view program) {
  const std::vector<Tier*> tiers = GB_TRY(candidate_tiers(wish));
  return tiers.front()->warm_interpreter(program);
}

}  // namespace glovebox
