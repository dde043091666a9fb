// SPDX-License-Identifier: Apache-2.0
// Verifying and checking what has run.
#include <memory>
#include <utility>

#include "service/runs/one_run.h"
#include "service/runs/run_checks.h"

namespace glovebox {

Result<void> OneRun::verify() {
  if (request_.verify.empty() || verdict().status == Status::kCanceled) {
    return {};
  }
  if (!place_->alive()) {
    verdict().notes.emplace_back("not verified: the sandbox ended with its guest");
    return {};
  }
  observer_.enter("verify");
  verdict().verification = std::make_shared<Verdict>(GB_TRY(shell(request_.verify)));
  return {};
}

// In the same sandbox, as the guest.
Result<Verdict> OneRun::shell(const std::string& text) {
  const RunOptions options{.limits = request_.limits,
                           .cancel_fd = request_.cancel_fd,
                           .strict = request_.strict};
  const Command command{.argv = {"/bin/sh", "-c", text}, .env = place_.env(), .cwd = {}};
  Verdict ended = place_.verdict("sh", request_.limits);
  conclude(ended, GB_TRY(place_->run(command, options)));
  return ended;
}

// A run that did not end with `ok` is not checked; if it did, a check that cannot be made has not
// passed.
Result<std::vector<CheckReport>> OneRun::check_with_commands() {
  std::vector<CheckReport> reports;
  if (verdict().status != Status::kOk) {
    return reports;
  }
  for (const std::string& command : request_.checks.commands) {
    if (place_->alive()) {
      observer_.enter("verify");
      reports.push_back(command_report(command, GB_TRY(shell(command))));
    } else {
      reports.push_back({.check = "command",
                         .what = command,
                         .reason = "the sandbox ended before it could be run"});
    }
  }
  return reports;
}

Result<void> OneRun::check_result(std::vector<CheckReport> reports) {
  if (verdict().status != Status::kOk || request_.compile_only) {
    return {};
  }
  for (const std::string& file : request_.checks.files) {
    reports.push_back(file_report(file, verdict()));
  }
  for (const std::string& schema : request_.checks.schemas) {
    reports.push_back(GB_TRY(output_report(schema, verdict())));
  }
  add_checks(verdict(), std::move(reports));
  return {};
}

}  // namespace glovebox
