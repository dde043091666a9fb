// SPDX-License-Identifier: Apache-2.0
#include "spec/exec_rules.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/glob.h"

namespace glovebox {
namespace {

constexpr std::size_t kMostLists = 64;
constexpr std::size_t kMostPatterns = 1'100;  // With the interpreters that were permitted.
constexpr std::size_t kLongestPattern = 256;

// One file that is many commands, chosen by an argument: a guest that may start one may start all.
constexpr std::array<std::string_view, 3> kManyInOne = {"busybox", "toybox", "coreutils"};

bool any_matches(const std::vector<std::string>& patterns, std::span<const std::string> names) {
  return std::ranges::any_of(patterns, [names](const std::string& pattern) {
    return std::ranges::any_of(
        names, [&pattern](const std::string& name) { return matches_glob(pattern, name); });
  });
}

bool is_many(std::span<const std::string> names) {
  return std::ranges::any_of(names, [](const std::string& name) {
    return std::ranges::find(kManyInOne, name) != kManyInOne.end();
  });
}

}  // namespace

bool ExecRules::names_all() const {
  return std::ranges::any_of(lists, [](const List& list) { return !list.others; });
}

bool ExecRules::lets_start(std::span<const std::string> names) const {
  return std::ranges::all_of(lists, [names](const List& list) {
    if (any_matches(list.refuse, names)) {
      return false;
    }
    return any_matches(list.allow, names) ||
           (list.others && (list.refuse.empty() || !is_many(names)));
  });
}

void ExecRules::permit(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  for (List& list : lists) {
    if (std::ranges::find(list.allow, name) == list.allow.end()) {
      list.allow.emplace_back(name);
    }
  }
}

Result<void> validate(const ExecRules& rules) {
  const auto fits = [](const std::vector<std::string>& patterns) {
    return patterns.size() <= kMostPatterns &&
           std::ranges::all_of(patterns, [](const std::string& pattern) {
             return !pattern.empty() && pattern.size() <= kLongestPattern;
           });
  };
  if (rules.lists.size() > kMostLists ||
      !std::ranges::all_of(rules.lists, [&fits](const ExecRules::List& list) {
        return fits(list.refuse) && fits(list.allow);
      })) {
    return Error(ErrorCode::kInvalid, "too many or too long rules for commands");
  }
  return {};
}

}  // namespace glovebox
