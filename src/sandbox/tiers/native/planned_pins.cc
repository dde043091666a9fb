// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/native/planned_pins.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace glovebox {
namespace {

using Pins = std::map<std::string, PlannedPin>;  // By path, so what is above comes first.

PlannedPin& add(Pins& pins, const std::string& place) {
  const bool directory = place.ends_with('/');
  const std::string path = place.substr(0, place.size() - (directory ? 1 : 0));
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    pins[path.substr(0, slash)].directory = true;
  }
  PlannedPin& pin = pins[path];
  pin.directory = pin.directory || directory;
  return pin;
}

bool is_below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

}  // namespace

std::vector<PlannedPin> plan_pins(const std::vector<std::string>& closed,
                                  const std::vector<std::string>& hidden) {
  Pins pins;
  for (const std::string& place : closed) {
    add(pins, place).closed = true;
  }
  for (const std::string& place : hidden) {
    add(pins, place).hidden = true;
  }
  std::vector<PlannedPin> planned;
  for (auto& [path, pin] : pins) {
    const auto above = [&planned, &path](bool PlannedPin::*kind) {
      return std::ranges::any_of(planned, [&path, kind](const PlannedPin& other) {
        return other.*kind && is_below(path, other.path);
      });
    };
    const bool leads_to_hidden = std::ranges::any_of(pins, [&path](const auto& other) {
      return other.second.hidden && (other.first == path || is_below(other.first, path));
    });
    const bool in_closed = above(&PlannedPin::closed);
    if (!above(&PlannedPin::hidden) && (!in_closed || leads_to_hidden)) {
      planned.push_back({.path = path,
                         .directory = pin.directory,
                         .closed = !pin.hidden && (pin.closed || in_closed),
                         .hidden = pin.hidden});
    }
  }
  return planned;
}

}  // namespace glovebox
