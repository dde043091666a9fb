// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/tier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace glovebox {
namespace {

TEST(TierTest, ATraitNamesATierThatHasIt) {
  for (const auto trait :
       {&TierTraits::can_lend, &TierTraits::can_hold_realms, &TierTraits::can_place_mounts}) {
    const TierWish wish = tier_that(trait);
    EXPECT_TRUE(traits_of(wish.exactly).*trait);
    EXPECT_TRUE(first_choice_can(wish, trait));
  }
}

TEST(TierTest, TheFirstChoiceIsWhatWouldBeTriedFirst) {
  for (const TierWish& wish :
       {TierWish{}, TierWish{.at_least = "landlock"}, TierWish{.exactly = "native"}}) {
    EXPECT_TRUE(first_choice_can(wish, &TierTraits::can_hold_realms));
  }
  EXPECT_FALSE(first_choice_can({.exactly = "landlock"}, &TierTraits::can_hold_realms));
}

TEST(TierTest, NativeIsTriedFirstThoughGvisorIsStronger) {
  const auto tiers = candidate_tiers({});
  ASSERT_TRUE(tiers);
  ASSERT_EQ(tiers->size(), 2U);
  EXPECT_EQ(tiers->front()->name(), "native");
  EXPECT_GT(tiers->back()->strength(), tiers->front()->strength());
  const auto strong = candidate_tiers({.at_least = "gvisor"});
  ASSERT_TRUE(strong);
  EXPECT_EQ(strong->front()->name(), "gvisor");
}

TEST(TierTest, AutoTriesTheStrongestFirstDownToTheFloor) {
  for (const auto* const floor : {"", "landlock"}) {
    const auto tiers = candidate_tiers({.exactly = "auto", .at_least = floor});
    ASSERT_TRUE(tiers);
    EXPECT_TRUE(std::ranges::is_sorted(*tiers, std::greater(), &Tier::strength));
    EXPECT_EQ(tiers->front()->name(), "gvisor");
    EXPECT_EQ(tiers->back()->name(), *floor == '\0' ? "native" : floor);
  }
}

TEST(TierTest, ATierWithoutProgramsOfTheMachineIsOnlyChosenByName) {
  for (const TierWish& wish :
       {TierWish{}, TierWish{.exactly = "auto"}, TierWish{.exactly = "auto", .at_least = "wasm"}}) {
    const auto tiers = candidate_tiers(wish);
    ASSERT_TRUE(tiers);
    EXPECT_TRUE(std::ranges::all_of(*tiers, [](const Tier* t) { return t->traits().runs_elf; }));
  }
  const auto named = candidate_tiers({.exactly = "wasm"});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->front()->name(), "wasm");
  EXPECT_EQ(tier_that(&TierTraits::is_deterministic).exactly, "wasm");
}

TEST(TierTest, AnEmulatedMachineIsOnlyChosenByName) {
  for (const TierWish& wish : {TierWish{}, TierWish{.exactly = "auto"},
                               TierWish{.exactly = "auto", .at_least = "gvisor"}}) {
    const auto tiers = candidate_tiers(wish);
    ASSERT_TRUE(tiers);
    EXPECT_TRUE(std::ranges::none_of(*tiers, [](const Tier* t) { return t->name() == "microvm"; }));
  }
  for (const TierWish& wish : {TierWish{.exactly = "microvm"}, TierWish{.at_least = "microvm"},
                               TierWish{.exactly = "auto", .at_least = "microvm"}}) {
    const auto tiers = candidate_tiers(wish);
    ASSERT_TRUE(tiers);
    ASSERT_EQ(tiers->size(), 1U);
    EXPECT_EQ(tiers->front()->name(), "microvm");
  }
}

TEST(TierTest, AFloorIsRaisedAndNeverLowered) {
  const auto raised = raise_floor({.at_least = "landlock"}, "gvisor");
  ASSERT_TRUE(raised);
  EXPECT_EQ(raised->at_least, "gvisor");
  const auto kept = raise_floor({.at_least = "gvisor"}, "landlock");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->at_least, "gvisor");
  EXPECT_TRUE(raise_floor({.exactly = "auto"}, "gvisor"));
  EXPECT_EQ(raise_floor({.exactly = "native"}, "gvisor").error().code(), ErrorCode::kInvalid);
  EXPECT_EQ(raise_floor({}, "none").error().code(), ErrorCode::kInvalid);
}

TEST(TierTest, NetworkRulesAreRefusedWhereThereIsNoNetworkToFilter) {
  SandboxSpec spec;
  spec.egress_port = 3128;
  for (const char* const name : {"native", "gvisor", "docker", "microvm"}) {
    EXPECT_TRUE(refuse_what_native_alone_has(spec, name)) << name;
  }
  for (const char* const name : {"landlock", "wasm"}) {
    const auto refused = refuse_what_native_alone_has(spec, name);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
    EXPECT_FALSE(refused.error().hint().empty());
  }
}

TEST(TierTest, ATierThatThereIsNotCanDoNothing) {
  EXPECT_FALSE(traits_of("none").can_place_mounts);
  EXPECT_FALSE(first_choice_can({.exactly = "none"}, &TierTraits::can_lend));
}

}  // namespace
}  // namespace glovebox
