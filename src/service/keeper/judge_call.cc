// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/judge_call.h"

#include <algorithm>

#include "base/json/json.h"
#include "service/judge/judge.h"
#include "service/judge/report_json.h"
#include "service/keeper/one_shot_call.h"
#include "service/runs/run_terms.h"

namespace glovebox::keeper {
namespace {

// The input, the output and the expected output are in a checker's sandbox, and count there.
constexpr Bytes kCheckerMemory = 1536_MiB;
constexpr Bytes kCheckerDisk = 1_GiB;

Result<judge::Submission> submission_of(const RunRequest& request, const CallContext& context) {
  Language language = GB_TRY(installed_language(request.language, context));
  judge::Submission submission{.language = language,
                               .code = request.code,
                               .name = request.name,
                               .arguments = request.arguments,
                               .limits = run_limits(language, request.limits),
                               .compile_limits = compile_limits(language, {}),
                               .tier = request.tier,
                               .rules = request.rules,
                               .env = request.env,
                               .files = {}};
  if (!request.limits.cpu_time) {
    judge::set_time(submission.limits, submission.limits.wall);
  }
  return submission;
}

Result<std::unique_ptr<judge::Program>> compile_checker(const RunRequest& request,
                                                        const CallContext& context) {
  judge::Submission submission = GB_TRY(submission_of(request, context));
  submission.limits.memory = std::max(submission.limits.memory, kCheckerMemory);
  submission.limits.disk = std::max(submission.limits.disk, kCheckerDisk);
  auto checker = GB_TRY(judge::Program::compile(std::move(submission), context.socket));
  if (const auto& rejection = checker->rejection()) {
    return Error(ErrorCode::kInvalid,
                 "the checker does not compile: " + rejection->outcome.err.bytes);
  }
  return checker;
}

}  // namespace

Result<nlohmann::json> judge_cases(const JudgeRequest& request, CallContext& context) {
  const std::size_t jobs = std::clamp<std::size_t>(request.jobs, 1, request.cases.size() + 1);
  GB_TRY(context.keeper.admit(jobs * kDescriptorsOfOne));
  judge::JudgeOptions options;
  options.comparison = GB_TRY(judge::parse_comparison(request.compare));
  options.jobs = jobs;
  options.stop_at_first = request.stop_at_first;
  // If the caller goes, its end closes, which makes ours readable: nobody else will have the
  // answer.
  options.cancel_fd = context.socket;
  if (request.program.limits.output) {
    options.output = *request.program.limits.output;
  }
  std::unique_ptr<judge::Program> checker;
  if (request.checker) {
    checker = GB_TRY(compile_checker(*request.checker, context));
    options.checker = checker.get();
  }
  judge::Submission submission = GB_TRY(submission_of(request.program, context));
  const auto program = GB_TRY(judge::Program::compile(std::move(submission), context.socket));
  options.ended = [&](const judge::CaseReport& report) { context.tell(judge::case_event(report)); };
  const judge::Report report = GB_TRY(judge::run_cases(*program, request.cases, options));
  context.tell(judge::report_event(report));
  return nlohmann::json();
}

}  // namespace glovebox::keeper
