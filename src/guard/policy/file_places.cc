// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/file_places.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "spec/place_rules.h"

namespace glovebox::policy {
namespace {

// The pattern without a prefix that names the workspace itself.
std::string_view in_workspace(std::string_view pattern) {
  constexpr std::array<std::string_view, 3> kHomes = {"~/", "/workspace/", "./"};
  for (const std::string_view home : kHomes) {
    if (pattern.starts_with(home)) {
      return pattern.substr(home.size());
    }
  }
  return pattern;
}

// What a pattern names in the workspace, as a place of PlaceRules::closed: one file, or a directory
// with all that is in it. Nothing if it has wildcards anywhere else, or is outside the workspace.
std::optional<std::string> closed_place_of(std::string_view pattern) {
  std::string place(in_workspace(pattern));
  while (place.ends_with("/*") || place.ends_with("/**")) {
    place.resize(place.rfind('/') + 1);
  }
  const bool valid = place.find_first_of("*?") == place.npos &&
                     validate(PlaceRules{.closed = {place}}).has_value();
  return valid ? std::optional(std::move(place)) : std::nullopt;
}

// An entry that is in a place but not refused, if any: the kernel leaves no hole in a closed place.
const Entry* hole_in(const RuleList& files, std::string_view place) {
  const auto found = std::ranges::find_if(files.entries, [place](const Entry& entry) {
    return entry.action != Action::kRefuse && in_workspace(entry.pattern).starts_with(place);
  });
  return found == files.entries.end() ? nullptr : &*found;
}

// The directory or file that holds everything that a pattern for files can match, as a place of
// PlaceRules; empty if no guest can write there, as in "../x". Nothing for a pattern that can match
// anywhere.
std::optional<std::string> place_of(std::string_view pattern) {
  if (const std::string_view rest = in_workspace(pattern); rest.size() < pattern.size()) {
    if (rest.find_first_of("*?") == 0) {
      return "./";
    }
    pattern = rest;
  }
  const std::size_t wildcard = pattern.find_first_of("*?");
  std::string place(pattern.substr(0, wildcard));
  if (wildcard != pattern.npos) {
    if (wildcard == 0) {
      return std::nullopt;
    }
    place.resize(place.rfind('/') + 1);  // npos + 1 is 0.
    place = place.empty() ? "./" : place;
  }
  const bool valid = validate(PlaceRules{.everywhere = false, .places = {place}}).has_value();
  return valid ? place : std::string();
}

// Whether place_of() holds no more than what the pattern matches.
bool is_exact(std::string_view pattern) {
  const std::size_t wildcard = pattern.find_first_of("*?");
  return wildcard == pattern.npos || (wildcard > 0 && pattern[wildcard - 1] == '/' &&
                                      pattern.find_first_not_of('*', wildcard) == pattern.npos);
}

}  // namespace

FilePlaces file_places_of(const RuleList& files) {
  FilePlaces places;
  if (files.otherwise == Action::kRefuse) {
    places.open.emplace();
  }
  for (const Entry& entry : files.entries) {
    if (entry.action == Action::kRefuse) {
      auto closed = closed_place_of(entry.pattern);
      if (closed && hole_in(files, *closed) == nullptr) {
        places.closed.push_back(*std::move(closed));
      }
      continue;
    }
    auto open = place_of(entry.pattern);
    if (!open) {
      places.open.reset();
    } else if (places.open && !open->empty()) {
      places.open->push_back(*std::move(open));
    }
  }
  return places;
}

std::string why_not_held(const RuleList& files, const Entry& entry) {
  if (entry.action == Action::kRefuse) {
    const auto closed = closed_place_of(entry.pattern);
    if (!closed) {
      return "it is neither one file of the workspace nor a directory with all that is in it";
    }
    const Entry* const hole = hole_in(files, *closed);
    return hole == nullptr ? "" : "'" + hole->pattern + "' in it is not refused";
  }
  if (files.otherwise != Action::kRefuse) {
    return {};
  }
  const auto open = place_of(entry.pattern);
  if (!open) {
    return "it matches anywhere";
  }
  return is_exact(entry.pattern) ? "" : "it matches only some of what is in a directory";
}

}  // namespace glovebox::policy
