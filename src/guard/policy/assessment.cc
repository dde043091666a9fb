// SPDX-License-Identifier: Apache-2.0
#include "guard/policy/assessment.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "guard/policy/catalogue.h"
#include "guard/policy/match.h"

namespace glovebox::policy {
namespace {

// Which kind of fact is compared with which list, and how to name a finding that no known rule
// names.
struct Comparison {
  FactKind kind;
  Subject subject;
  std::string_view rule;
  std::string_view what;
};

constexpr std::array kComparisons = {
    Comparison{FactKind::kModule, Subject::kModules, "module", "module"},
    Comparison{FactKind::kName, Subject::kCalls, "call", "call"},
    Comparison{FactKind::kAttribute, Subject::kAttributes, "attribute", "attribute"},
    Comparison{FactKind::kCommand, Subject::kCommands, "command", "command"},
    Comparison{FactKind::kHost, Subject::kHosts, "host", "host"},
    Comparison{FactKind::kFileRead, Subject::kFilesRead, "file-read", "reading the file"},
    Comparison{FactKind::kFileWrite, Subject::kFilesWrite, "file-write", "writing the file"},
    Comparison{FactKind::kPattern, Subject::kPatterns, "pattern", "pattern"},
};

Severity severity_of(Action action) {
  return action == Action::kNote  ? Severity::kLow
         : action == Action::kAsk ? Severity::kMedium
                                  : Severity::kHigh;
}

std::string command_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    line += (line.empty() ? "" : " ") + word;
  }
  return line;
}

Match match(const RuleList& list, const Fact& fact, Subject subject) {
  switch (subject) {
    case Subject::kCommands:
      return match_command(list, fact.argv);
    case Subject::kHosts:
      return match_host(list, fact.name);
    case Subject::kFilesRead:
    case Subject::kFilesWrite:
      return match_path(list, fact.name);
    default:
      return match_name(list, fact.name);
  }
}

Finding unreadable(const Policy& policy, std::string subject, std::string reason) {
  return {.rule = "unparsed",
          .severity = severity_of(policy.unparsed),
          .action = policy.unparsed,
          .line = 1,
          .column = 1,
          .subject = std::move(subject),
          .reason = std::move(reason),
          .policy = policy.origin};
}

std::optional<Finding> finding_of(const Policy& policy, const Fact& fact, std::string_view family) {
  const auto* const comparison = std::ranges::find(kComparisons, fact.kind, &Comparison::kind);
  if (comparison == kComparisons.end()) {
    Finding finding = unreadable(policy, "", fact.name);
    finding.line = fact.line;
    finding.column = fact.column;
    return finding;
  }
  const RuleList& list = policy.list(comparison->subject, family);
  const Match found = match(list, fact, comparison->subject);
  if (found.action == Action::kAllow) {
    return std::nullopt;
  }
  Finding finding{.rule = std::string(comparison->rule),
                  .severity = severity_of(found.action),
                  .action = found.action,
                  .line = fact.line,
                  .column = fact.column,
                  .subject = fact.kind == FactKind::kCommand ? command_line(fact.argv) : fact.name,
                  .reason = {},
                  .policy = policy.origin};
  if (const KnownRule* const known = known_rule(fact.kind, fact.name); known != nullptr) {
    finding.rule = known->rule;
    finding.severity = known->severity;
    finding.reason = known->reason;
  } else if (found.entry != nullptr) {
    finding.reason = std::string(comparison->what) + " matches '" + found.entry->pattern + "'";
  } else {
    finding.reason = std::string(comparison->what) + " is not on the policy's list";
  }
  return finding;
}

// Whether a program would be allowed everything only because the policy has nothing about its
// language. In the first languages that were analysed, what a policy does not mention is allowed.
bool is_silent_about(const Policy& policy, const Program& program) {
  return program.language != "javascript" && program.family != "python" &&
         program.family != "shell" && !policy.by_language.contains(program.family);
}

std::vector<Finding> findings_of(const Policy& policy, const Program& program) {
  std::vector<Finding> findings;
  const RuleList& languages = policy.list(Subject::kLanguages, {});
  const Match language = match_name(languages, program.language);
  if (program.family.empty() && language.entry == nullptr) {
    findings.push_back(
        unreadable(policy, program.language, "programs in this language cannot be analysed"));
  } else if (language.entry == nullptr && is_silent_about(policy, program)) {
    findings.push_back(unreadable(policy, program.language,
                                  "the policy says nothing about programs in this language"));
  }
  if (language.action != Action::kAllow) {
    findings.push_back({.rule = "language",
                        .severity = severity_of(language.action),
                        .action = language.action,
                        .line = 1,
                        .column = 1,
                        .subject = program.language,
                        .reason = language.entry == nullptr
                                      ? "language is not on the policy's list"
                                      : "language matches '" + language.entry->pattern + "'",
                        .policy = policy.origin});
  }
  std::set<std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>> seen;
  for (const Fact& fact : program.facts) {
    std::optional<Finding> finding = finding_of(policy, fact, program.family);
    // A name that is called and looked up at one place is one finding.
    if (finding &&
        seen.emplace(finding->rule, finding->reason, finding->line, finding->column).second) {
      findings.push_back(*std::move(finding));
    }
  }
  return findings;
}

// How often one rule counts: a hundred calls of one function are no worse than some.
constexpr int kMostPerRule = 3;

std::uint32_t risk_of(const std::vector<Finding>& findings) {
  std::map<std::string_view, int> times;
  std::uint32_t risk = 0;
  for (const Finding& finding : findings) {
    if (++times[finding.rule] <= kMostPerRule) {
      risk += risk_of(finding.severity);
    }
  }
  return risk;
}

}  // namespace

std::string_view name_of(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames = {"low", "medium", "high"};
  return kNames.at(static_cast<std::size_t>(severity));
}

std::uint32_t risk_of(Severity severity) {
  constexpr std::array<std::uint32_t, 3> kRisks = {1, 5, 20};
  return kRisks.at(static_cast<std::size_t>(severity));
}

Assessment assess(const std::vector<Policy>& policies, const Program& program) {
  Assessment result;
  bool dry_run_first = true;
  for (const Policy& policy : policies) {
    if (!policy.examines()) {
      continue;
    }
    std::vector<Finding> findings = findings_of(policy, program);
    Action decision = Action::kAllow;
    for (const Finding& finding : findings) {
      decision = std::max(decision, finding.action);
    }
    decision = decision == Action::kNote ? Action::kAllow : decision;
    const std::uint32_t risk = risk_of(findings);
    result.risk = std::max(result.risk, risk);
    const Action by_risk = policy.refuse_at != 0 && risk >= policy.refuse_at ? Action::kRefuse
                           : policy.ask_at != 0 && risk >= policy.ask_at     ? Action::kAsk
                                                                             : Action::kAllow;
    if (by_risk > decision && by_risk > result.decision) {
      result.decided_by = policy.origin;
    } else if (decision > result.decision) {
      result.decided_by.clear();
    }
    const Action own = std::max(decision, by_risk);
    dry_run_first = dry_run_first && (own < Action::kAsk || policy.dry_run);
    result.decision = std::max(result.decision, own);
    std::ranges::move(findings, std::back_inserter(result.findings));
  }
  result.dry_run_first = dry_run_first && result.decision == Action::kAsk;
  std::ranges::stable_sort(result.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.line, a.column, b.action) < std::tuple(b.line, b.column, a.action);
  });
  return result;
}

std::string reason_of(const Assessment& assessment, std::string_view name) {
  for (const Finding& finding : assessment.findings) {
    if (finding.action == assessment.decision) {
      return finding.rule + " at " + printable(name) + ":" + std::to_string(finding.line) + ":" +
             std::to_string(finding.column);
    }
  }
  return "risk " + std::to_string(assessment.risk);
}

}  // namespace glovebox::policy
