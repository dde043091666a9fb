// SPDX-License-Identifier: Apache-2.0
#include "service/api/ending.h"

#include <algorithm>
#include <array>

namespace glovebox {
namespace {

struct Words {
  std::string_view name;
  std::string_view description;
};

// In the order of EndReason.
constexpr std::array<Words, kEndReasons> kWords = {{
    {"deleted", "it was deleted"},
    {"expired", "its time was over"},
    {"out_of_memory", "it ran out of memory"},
    {"crashed", "it crashed"},
    {"emergency_stop", "an emergency stop ended it"},
    {"keeper_ended", "the sandbox keeper or the machine was stopped"},
    {"unknown", "the reason is unknown"},
}};

}  // namespace

std::string_view to_string(EndReason reason) {
  return kWords[static_cast<std::size_t>(reason)].name;
}

std::string_view describe(EndReason reason) {
  return kWords[static_cast<std::size_t>(reason)].description;
}

EndReason to_end_reason(std::string_view name) {
  const auto* const found = std::ranges::find(kWords, name, &Words::name);
  return found == kWords.end() ? EndReason::kUnknown
                               : static_cast<EndReason>(found - kWords.begin());
}

}  // namespace glovebox
