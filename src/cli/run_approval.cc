// SPDX-License-Identifier: Apache-2.0
#include "cli/run_approval.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/digest/digest.h"
#include "base/text.h"
#include "cli/confirmation.h"
#include "cli/output_writer.h"
#include "cli/policy_files.h"
#include "guard/policy/assessment_json.h"
#include "language/suggest.h"
#include "service/policies/policy_walls.h"
#include "service/policies/tier_floor.h"
#include "service/runs/analysis.h"

namespace glovebox::cli {
namespace {

using policy::Assessment;

std::vector<std::string> grants_of(const OneShot& request) {
  std::vector<std::string> grants;
  if (request.network) {
    grants.emplace_back("network");
  }
  if (request.as_root) {
    grants.emplace_back("root");
  }
  if (request.nested) {
    grants.emplace_back("nested");
  }
  for (const FileToCopy& file : request.files) {
    grants.push_back("file " + file.source);
  }
  return grants;
}

std::string hash_of(const OneShot& request) {
  ContentHash hash;
  hash.add(request.language.id).add(request.code);
  for (const std::string& argument : request.arguments) {
    hash.add(argument);
  }
  for (const std::string& grant : grants_of(request)) {
    hash.add(grant);
  }
  return hash.hex();
}

bool stderr_has_colour() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  return ::isatty(STDERR_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

Result<void> approve(const std::vector<std::string>& policies, OneShot& request, bool events) {
  if (policies.empty()) {
    return {};
  }
  std::vector<policy::Policy> loaded;
  for (const std::string& each : policies) {
    loaded.push_back(GB_TRY(load_policy(each)));
    request.tier = GB_TRY(raise_floor(request.tier, loaded.back()));
  }
  request.rules = guest_rules_of(loaded);
  for (const policy::Policy& each : loaded) {
    request.checks.add(each.checks);
  }
  if (!request.checks.reviews.empty()) {
    return Error(ErrorCode::kUnsupported,
                 "the policy wants a second model to review the result, and nobody here asks one",
                 "run the program on a daemon, by a client that answers reviews");
  }
  if (std::ranges::none_of(loaded, &policy::Policy::examines)) {
    return {};
  }
  const auto programs = GB_TRY(
      analyse({{request.language.id, request.code, request.name}}, in_own_sandbox(request.tier)));
  const Assessment assessment = policy::assess(loaded, programs.front());
  const std::string name = request.name.empty() ? "code" : request.name;
  if (!assessment.findings.empty()) {
    write_fully(STDERR_FILENO, describe(assessment, request.code, name, stderr_has_colour()));
  }
  if (assessment.decision < policy::Action::kAsk) {
    return {};
  }
  const std::string why = reason_of(assessment, name);
  if (assessment.decision == policy::Action::kRefuse) {
    return Error(ErrorCode::kRefused, "the policy refuses this program: " + why,
                 "change the program, or allow this in the policy");
  }
  if (assessment.dry_run_first) {
    write_fully(STDERR_FILENO,
                "no dry run: only code that is executed in a daemon's context can have one\n");
  }
  const std::string hash = hash_of(request);
  if (events) {
    write_fully(STDOUT_FILENO, policy::approval_needed_event(hash.substr(0, 16), assessment,
                                                             grants_of(request), hash) +
                                   "\n");
  }
  if (!has_person()) {
    return Error(
        ErrorCode::kRefused,
        "the policy wants a person to approve this program, and there is no terminal: " + why,
        "run it at a terminal to be asked, or allow this in the policy");
  }
  if (!person_agrees("Run it anyway?")) {
    return Error(ErrorCode::kRefused, "not approved: " + why);
  }
  return {};
}

}  // namespace glovebox::cli
