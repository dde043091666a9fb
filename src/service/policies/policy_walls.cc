// SPDX-License-Identifier: Apache-2.0
#include "service/policies/policy_walls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "guard/policy/match.h"

namespace glovebox {
namespace {

using policy::Action;
using policy::Entry;
using policy::Policy;
using policy::RuleList;
using policy::Subject;

// A program that the sandbox made itself is started by its path, not by its name.
bool is_written(const std::vector<std::string>& command) {
  return !command.empty() &&
         (command.front().starts_with('{') || command.front().starts_with("./"));
}

ExecRules exec_rules_of(const std::vector<Policy>& policies) {
  ExecRules rules;
  for (const Policy& policy : policies) {
    const RuleList& commands = policy.list(Subject::kCommands, {});
    ExecRules::List list{.others = commands.otherwise != Action::kRefuse};
    for (const Entry& entry : commands.entries) {
      const std::string_view pattern(entry.pattern);
      const std::size_t start = pattern.find_first_not_of(' ');
      const std::string_view rest = pattern.substr(start == pattern.npos ? 0 : start);
      const std::string program(rest.substr(0, rest.find(' ')));
      if (program.empty()) {
        continue;
      }
      if (entry.action != Action::kRefuse) {
        list.allow.push_back(program);
      } else if (rest.find_first_not_of(' ', program.size()) == rest.npos) {
        list.refuse.push_back(program);
      }
    }
    const bool is_wall = !list.refuse.empty() || !list.others;
    const Action written = policy.written.value_or(is_wall ? Action::kRefuse : Action::kAllow);
    rules.written = rules.written && written != Action::kRefuse;
    if (is_wall) {
      rules.lists.push_back(std::move(list));
    }
  }
  return rules;
}

// Without what names the workspace itself.
std::string_view in_workspace(std::string_view pattern) {
  constexpr std::array<std::string_view, 3> kHomes = {"~/", "/workspace/", "./"};
  for (const std::string_view home : kHomes) {
    if (pattern.starts_with(home)) {
      return pattern.substr(home.size());
    }
  }
  return pattern;
}

// What a pattern names in the workspace, as a place of WriteRules::closed: one file, or a directory
// with all that is in it. Nothing for what has wildcards elsewhere, or lies elsewhere.
std::optional<std::string> closed_place_of(std::string_view pattern) {
  std::string place(in_workspace(pattern));
  while (place.ends_with("/*") || place.ends_with("/**")) {
    place.resize(place.rfind('/') + 1);
  }
  const bool valid = place.find_first_of("*?") == place.npos &&
                     validate(WriteRules{.closed = {place}}).has_value();
  return valid ? std::optional(std::move(place)) : std::nullopt;
}

// Beside them, nothing in a closed place may be allowed: the kernel leaves no hole in it.
void close_places(const RuleList& files, std::vector<std::string>& closed) {
  for (const Entry& entry : files.entries) {
    const auto place =
        entry.action == Action::kRefuse ? closed_place_of(entry.pattern) : std::nullopt;
    const bool has_hole =
        place && std::ranges::any_of(files.entries, [&](const Entry& other) {
          return other.action != Action::kRefuse && in_workspace(other.pattern).starts_with(*place);
        });
    if (place && !has_hole) {
      closed.push_back(*place);
    }
  }
}

// The directory or file that holds everything that a pattern for files can match, as a place of
// WriteRules; empty for what lies nowhere that a guest can write, as "../x" does. Nothing for a
// pattern that can match anywhere.
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
  const bool valid = validate(WriteRules{.everywhere = false, .places = {place}}).has_value();
  return valid ? place : std::string();
}

WriteRules write_rules_of(const std::vector<Policy>& policies) {
  WriteRules rules;
  for (const Policy& policy : policies) {
    const RuleList& files = policy.list(Subject::kFilesWrite, {});
    bool is_wall = files.otherwise == Action::kRefuse;
    std::vector<std::string> places;
    for (const Entry& entry : files.entries) {
      if (entry.action == Action::kRefuse) {
        continue;
      }
      std::optional<std::string> place = place_of(entry.pattern);
      is_wall = is_wall && place.has_value();
      if (place && !place->empty()) {
        places.push_back(*std::move(place));
      }
    }
    if (is_wall) {
      rules.restrict_to(places);
    }
    close_places(files, rules.closed);
  }
  std::ranges::sort(rules.closed);
  rules.closed.erase(std::unique(rules.closed.begin(), rules.closed.end()), rules.closed.end());
  return rules;
}

}  // namespace

GuestRules guest_rules_of(const std::vector<Policy>& policies) {
  return {.exec = exec_rules_of(policies), .write = write_rules_of(policies)};
}

Result<GuestRules> rules_for(const Language& language, GuestRules rules) {
  if (!rules.exec.written && is_written(language.run)) {
    return Error(ErrorCode::kRefused,
                 "the policy lets no program start that was written in the sandbox, and programs "
                 "in '" +
                     language.id + "' are compiled there",
                 "set written = \"allow\" in [commands] of the policy");
  }
  for (const std::vector<std::string>& command : {language.compile, language.run}) {
    if (!command.empty() && !is_written(command)) {
      rules.exec.permit(command.front());
    }
  }
  return rules;
}

GuestRules guest_rules_for_contexts(const std::vector<Policy>& policies,
                                    const Registry& languages) {
  GuestRules rules = guest_rules_of(policies);
  if (!rules.exec.names_all()) {
    return rules;
  }
  for (const Language& language : languages.all()) {
    bool allowed = !language.agent.empty();
    for (const Policy& policy : policies) {
      allowed =
          allowed && policy::match_name(policy.list(Subject::kLanguages, {}), language.id).action !=
                         Action::kRefuse;
    }
    if (allowed) {
      rules.exec.permit(language.agent.front());
      rules.exec.permit(is_written(language.run) ? language.agent.front() : language.run.front());
    }
  }
  return rules;
}

}  // namespace glovebox
