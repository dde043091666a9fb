// SPDX-License-Identifier: Apache-2.0
#include "service/policies/policy_walls.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "guard/policy/file_places.h"
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

PlaceRules place_rules_of(const std::vector<Policy>& policies, Subject subject) {
  PlaceRules rules;
  for (const Policy& policy : policies) {
    const policy::FilePlaces places = policy::file_places_of(policy.list(subject, {}));
    if (places.open) {
      rules.restrict_to(*places.open);
    }
    rules.closed.insert(rules.closed.end(), places.closed.begin(), places.closed.end());
  }
  std::ranges::sort(rules.closed);
  rules.closed.erase(std::unique(rules.closed.begin(), rules.closed.end()), rules.closed.end());
  return rules;
}

}  // namespace

GuestRules guest_rules_of(const std::vector<Policy>& policies) {
  return {.exec = exec_rules_of(policies),
          .write = place_rules_of(policies, Subject::kFilesWrite),
          .read = place_rules_of(policies, Subject::kFilesRead)};
}

Result<GuestRules> rules_for(const Language& language, const std::string& file, GuestRules rules) {
  if (!rules.exec.written && is_written(language.run)) {
    return Error(ErrorCode::kRefused,
                 "the policy lets no program start that was written in the sandbox, and programs "
                 "in '" +
                     language.id + "' are compiled there",
                 "set written = \"allow\" in [commands] of the policy");
  }
  if (!language.compile.empty() && !rules.read.covers("./")) {
    return Error(ErrorCode::kRefused,
                 "the policy lets a program read only what it names, and what is compiled in '" +
                     language.id + "' may be anywhere in the workspace",
                 "add \"~/*\" to allow in [files.read] of the policy");
  }
  rules.read.permit(file);
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
