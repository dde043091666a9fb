// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_files.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/input_file.h"
#include "language/suggest.h"
#include "service/policies/tier_floor.h"

namespace glovebox::cli {
namespace {

using policy::Assessment;
using policy::Finding;

constexpr std::string_view kEnding = ".toml";
constexpr std::string_view kExamplesEnding = ".examples.toml";
constexpr std::size_t kMostShown = 50;

constexpr const char* kTooLarge = "a policy has at most that";

bool is_file_name(std::string_view text) {
  return text == kStandardInput || text.find_first_of("/.") != std::string::npos;
}

Error no_such_policy(const std::string& name) {
  const std::vector<std::string_view> names = policy::shipped_policies();
  const std::string nearest = nearest_word(name, names);
  std::string hint = nearest.empty() ? "use one of" : "did you mean '" + nearest + "'?";
  for (const std::string_view each : names) {
    hint += nearest.empty() ? " '" + std::string(each) + "'" : "";
  }
  return Error(ErrorCode::kNotFound, "there is no policy '" + printable(name) + "'",
               nearest.empty() ? hint + ", or a file's name with a slash or a dot" : hint);
}

std::string_view line_at(std::string_view text, std::uint32_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string shortened(std::string_view text, std::size_t most) {
  const std::string shown = printable(text);
  return shown.size() <= most ? shown : to_utf8(shown.substr(0, most)) + "…";
}

std::string painted(std::string_view text, policy::Action action, bool colour) {
  constexpr std::array<std::string_view, 4> kColours = {"32", "36", "33", "31"};
  if (!colour) {
    return std::string(text);
  }
  return "\x1b[" + std::string(kColours.at(static_cast<std::size_t>(action))) + "m" +
         std::string(text) + "\x1b[0m";
}

}  // namespace

Result<policy::Policy> load_policy(const std::string& file_or_name) {
  if (is_file_name(file_or_name)) {
    const std::string text =
        GB_TRY(read_whole_input(file_or_name, policy::kMaxPolicyFile, kTooLarge));
    policy::Policy policy = GB_TRY(policy::parse_policy(text, file_or_name));
    // So that a daemon refuses to start with it, instead of refusing every program later.
    GB_TRY(raise_floor(TierWish{}, policy));
    return policy;
  }
  const std::string_view shipped = policy::shipped_policy(file_or_name);
  if (shipped.empty()) {
    return no_such_policy(file_or_name);
  }
  return policy::parse_policy(shipped, file_or_name);
}

Result<std::vector<policy::Example>> load_examples(const std::string& file_or_name) {
  if (!is_file_name(file_or_name)) {
    const std::string_view shipped = policy::shipped_examples(file_or_name);
    if (shipped.empty()) {
      return no_such_policy(file_or_name);
    }
    return policy::parse_examples(shipped, file_or_name + std::string(kExamplesEnding));
  }
  if (file_or_name == kStandardInput) {
    return Error(ErrorCode::kInvalid, "nothing lies beside standard input",
                 "save the policy in a file, with its examples beside it");
  }
  std::string path = file_or_name;
  if (path.ends_with(kEnding)) {
    path.resize(path.size() - kEnding.size());
  }
  path += kExamplesEnding;
  auto text = read_whole_input(path, policy::kMaxPolicyFile, kTooLarge);
  if (!text) {
    return std::move(text).error().with_hint("write examples for the policy in " + path +
                                             "; see docs/policy.md");
  }
  return policy::parse_examples(*text, path);
}

std::string describe(const Assessment& assessment,
                     std::string_view code,
                     std::string_view code_name,
                     bool colour) {
  std::string out;
  std::size_t shown = 0;
  for (const Finding& finding : assessment.findings) {
    if (++shown > kMostShown) {
      out += "… and " + std::to_string(assessment.findings.size() - kMostShown) +
             " more findings; --json lists all\n";
      break;
    }
    out += printable(code_name) + ":" + std::to_string(finding.line) + ":" +
           std::to_string(finding.column) + ": " +
           painted(name_of(finding.action), finding.action, colour) + ": " + finding.rule + " (" +
           std::string(name_of(finding.severity)) + ") " +
           (finding.subject.empty() ? "" : "'" + shortened(finding.subject, 80) + "': ") +
           shortened(finding.reason, 200) + " [" + printable(finding.policy) + "]\n";
    if (const std::string_view line = line_at(code, finding.line); !line.empty()) {
      out += "    " + shortened(line.substr(0, 400), 120) + "\n";
    }
  }
  out +=
      "decision: " + painted(name_of(assessment.decision), assessment.decision, colour) +
      " (risk " + std::to_string(assessment.risk) +
      (assessment.decided_by.empty() ? std::string()
                                     : ", the threshold of " + printable(assessment.decided_by)) +
      ")\n";
  return out;
}

}  // namespace glovebox::cli
