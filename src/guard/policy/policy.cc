// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/policy.h"

namespace glovebox::policy {

std::string_view name_of(Action action) {
  constexpr std::array<std::string_view, 4> kNames = {"allow", "note", "ask", "refuse"};
  return kNames.at(static_cast<std::size_t>(action));
}

const RuleList& Policy::list(Subject subject, std::string_view family) const {
  static const RuleList kNone;
  if (const auto language = by_language.find(family); language != by_language.end()) {
    if (const auto own = language->second.find(subject); own != language->second.end()) {
      return own->second;
    }
  }
  const auto found = lists.find(subject);
  return found == lists.end() ? kNone : found->second;
}

bool Policy::examines() const {
  const bool demands = !min_tier.empty() || written || tools || !checks.empty();
  return !demands || says_unparsed || ask_at != 0 || refuse_at != 0 || !lists.empty() ||
         !by_language.empty();
}

}  // namespace glovebox::policy
