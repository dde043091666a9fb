// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "guard/policy/analysers.h"

namespace glovebox::policy {

std::string_view family_of(std::string_view language) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFamilies = {{
      {"python", "python"},
      {"pypy", "python"},
      {"bash", "shell"},
      {"sh", "shell"},
      {"ksh", "shell"},
      {"javascript", "javascript"},
  }};
  const auto* const known =
      std::ranges::find(kFamilies, language, &std::pair<std::string_view, std::string_view>::first);
  return known == kFamilies.end() ? std::string_view{} : known->second;
}

}  // namespace glovebox::policy
