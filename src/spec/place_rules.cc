// SPDX-License-Identifier: Apache-2.0
#include "spec/place_rules.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace glovebox {
namespace {

constexpr std::size_t kMostPlaces = 1'024;
constexpr std::size_t kLongestPlace = 256;
// Each is a mount, and so is each directory above it.
constexpr std::size_t kMostClosed = 64;
constexpr std::ptrdiff_t kDeepestClosed = 8;
constexpr std::string_view kWhole = "./";  // The workspace.

// A directory also covers its own name without the slash: that is the same file.
bool holds(std::string_view place, std::string_view other) {
  const bool directory = place.ends_with('/');
  return place == other || (directory && other.starts_with(place)) ||
         (directory && other == place.substr(0, place.size() - 1)) ||
         (place == kWhole && !other.starts_with('/'));
}

bool covered_by_any(const std::vector<std::string>& places, const std::string& place) {
  return std::ranges::any_of(places,
                             [&place](const std::string& each) { return holds(each, place); });
}

bool is_place(std::string_view place) {
  if (place == kWhole) {
    return true;
  }
  if (place.empty() || place.size() > kLongestPlace || place.find('\0') != place.npos) {
    return false;
  }
  std::string_view rest = place.substr(place.starts_with('/') ? 1 : 0);
  rest.remove_suffix(rest.ends_with('/') ? 1 : 0);
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    if (slash == rest.npos) {
      return true;
    }
    rest.remove_prefix(slash + 1);
  }
}

bool can_be_closed(const std::string& place) {
  return is_place(place) && place != kWhole && !place.starts_with('/') &&
         std::ranges::count(place, '/') <= kDeepestClosed;
}

}  // namespace

void PlaceRules::restrict_to(const std::vector<std::string>& others) {
  std::vector<std::string> both;
  for (const std::string& place : others) {
    if (everywhere || covered_by_any(places, place)) {
      both.push_back(place);
    }
  }
  for (const std::string& place : places) {
    if (covered_by_any(others, place)) {
      both.push_back(place);
    }
  }
  std::ranges::sort(both);
  both.erase(std::unique(both.begin(), both.end()), both.end());
  places.clear();
  for (const std::string& place : both) {
    const bool within_another = std::ranges::any_of(
        both, [&place](const std::string& each) { return each != place && holds(each, place); });
    if (!within_another) {
      places.push_back(place);
    }
  }
  everywhere = false;
}

bool PlaceRules::covers(const std::string& place) const {
  return everywhere || covered_by_any(places, place);
}

void PlaceRules::permit(std::string place) {
  if (!covers(place)) {
    places.push_back(std::move(place));
  }
}

Result<void> validate(const PlaceRules& rules) {
  if (rules.places.size() > kMostPlaces || !std::ranges::all_of(rules.places, is_place) ||
      rules.closed.size() > kMostClosed || !std::ranges::all_of(rules.closed, can_be_closed)) {
    return Error(ErrorCode::kInvalid, "too many or invalid rules for files");
  }
  return {};
}

}  // namespace glovebox
