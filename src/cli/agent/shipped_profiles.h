// SPDX-License-Identifier: Apache-2.0
// The files of examples/agents/, as texts built into the program.
#pragma once

#include <span>
#include <string_view>

namespace glovebox::cli {

struct ShippedProfile {
  std::string_view name;
  std::string_view text;
};

std::span<const ShippedProfile> shipped_profiles();

}  // namespace glovebox::cli
