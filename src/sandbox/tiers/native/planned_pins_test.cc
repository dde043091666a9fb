// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/planned_pins.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

using Pins = std::vector<PlannedPin>;

TEST(PlannedPinsTest, EachDirectoryAboveAPlaceIsPinnedBeforeIt) {
  EXPECT_EQ(plan_pins({".git/hooks/"}, {"a/b/key"}),
            (Pins{{.path = ".git", .directory = true},
                  {.path = ".git/hooks", .directory = true, .closed = true},
                  {.path = "a", .directory = true},
                  {.path = "a/b", .directory = true},
                  {.path = "a/b/key", .hidden = true}}));
}

TEST(PlannedPinsTest, WhatIsHiddenIsNotClosedBesides) {
  EXPECT_EQ(plan_pins({".env"}, {".env"}), (Pins{{.path = ".env", .hidden = true}}));
}

TEST(PlannedPinsTest, NothingIsPinnedInWhatIsHidden) {
  EXPECT_EQ(
      plan_pins({"a/b/", "a-b"}, {"a/", "a/c"}),
      (Pins{{.path = "a", .directory = true, .hidden = true}, {.path = "a-b", .closed = true}}));
}

TEST(PlannedPinsTest, OfWhatIsInAClosedPlaceOnlyTheWayToWhatIsHiddenIsPinnedAndIsClosedToo) {
  EXPECT_EQ(plan_pins({"a/", "a/x"}, {"a/b/key"}),
            (Pins{{.path = "a", .directory = true, .closed = true},
                  {.path = "a/b", .directory = true, .closed = true},
                  {.path = "a/b/key", .hidden = true}}));
}

}  // namespace
}  // namespace glovebox
