// SPDX-License-Identifier: Apache-2.0
#include "service/runs/run_plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "service/policies/policy_walls.h"
#include "service/runs/run_terms.h"
#include "spec/warden_protocol.h"

namespace glovebox {
namespace {

SourceText source_of(const OneShot& request) {
  SourceText text{.code = request.code, .name = request.name};
  if (request.image) {
    text.home = request.image->home;
  }
  return text;
}

// More than the warden takes is refused here, where it can be said plainly.
Result<void> check_counts(const Command& command, const Environment& env) {
  // Room for the variables that every guest has.
  constexpr std::size_t kMaxVariables = warden::kMaxArguments - 256;
  if (command.argv.size() > warden::kMaxArguments) {
    return Error(ErrorCode::kInvalid,
                 "more than " + std::to_string(warden::kMaxArguments) + " arguments",
                 "pass them in a file with --file, or on standard input");
  }
  if (env.size() + command.env.size() > kMaxVariables) {
    return Error(ErrorCode::kInvalid,
                 "more than " + std::to_string(kMaxVariables) + " environment variables",
                 "pass them in a file with --file");
  }
  return {};
}

// Of a tier that runs no programs of the machine.
Result<void> refuse_programs(const std::string& tier, const OneShot& request, const Plan& plan) {
  const auto refuse = [&](std::string_view what, std::string_view instead) {
    return Error(ErrorCode::kUnsupported, "the " + tier + " tier " + std::string(what),
                 "use the native tier" + std::string(instead));
  };
  if (plan.compile && request.language.tier != tier) {
    return refuse("has no compiler for " + request.language.title,
                  ", or compile the program to a WebAssembly module first");
  }
  if (!request.in_place.empty()) {
    return refuse("runs no programs of this machine", "");
  }
  if (!request.verify.empty()) {
    return refuse("has no shell to verify with", ", or leave out --verify");
  }
  if (!request.checks.commands.empty()) {
    return refuse("has no shell for the commands that check a run", "");
  }
  if (!request.packages.requests.empty()) {
    return refuse("has no packages", ", or leave out --packages");
  }
  if (request.strict) {
    return refuse("has a system call policy of its own", ", or leave out --seccomp");
  }
  return {};
}

Result<SandboxSpec> spec_for(const OneShot& request, const Plan& plan) {
  SandboxSpec spec{.limits = request.limits,
                   .env = request.env,
                   .mounts = request.language.mounts,
                   .as_root = request.as_root,
                   .nested = request.nested,
                   .deterministic = request.deterministic};
  spec.rules = GB_TRY(rules_for(request.language, plan.file_name, request.rules));
  if (!request.verify.empty() || !request.checks.commands.empty()) {
    spec.rules.exec.permit("sh");
  }
  // The file system is made once, for the larger of both; what the cgroup limits can change.
  if (plan.compile) {
    spec.limits.disk = std::max(spec.limits.disk, request.compile_limits.disk);
    spec.limits.inodes = std::max(spec.limits.inodes, request.compile_limits.inodes);
  }
  return spec;
}

}  // namespace

Result<RunPlan> plan_run(const OneShot& request) {
  GB_TRY(validate(request.limits));
  GB_TRY(validate(request.compile_limits, "compile-"));
  RunPlan plan;
  plan.steps = make_plan(request.language, source_of(request), request.arguments, request.limits,
                         request.compile_limits);
  GB_TRY(check_counts(plan.steps.run, request.env));
  if (request.compile_only && !plan.steps.compile) {
    return Error(ErrorCode::kInvalid,
                 "'" + request.language.id + "' has no compiler that runs beforehand",
                 "run the program without --compile-only");
  }
  plan.tier = GB_TRY(tier_for(request.language, request.tier, request.deterministic));
  if (!traits_of(plan.tier.exactly).runs_elf) {
    GB_TRY(refuse_programs(plan.tier.exactly, request, plan.steps));
    plan.compiles_elsewhere = plan.steps.compile.has_value();
  }
  plan.spec = GB_TRY(spec_for(request, plan.steps));
  return plan;
}

}  // namespace glovebox
