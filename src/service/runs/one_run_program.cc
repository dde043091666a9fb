// SPDX-License-Identifier: Apache-2.0
// Running the program of a run.
#include <utility>

#include "files/open.h"
#include "service/runs/one_run.h"

namespace glovebox {

Result<void> OneRun::run_program() {
  observer_.enter("run");
  Command command = plan_.steps.run;
  if (!request_.in_place.empty()) {
    command.argv.front() = request_.in_place;
    command.cwd = request_.image ? request_.image->directory : command.cwd;
  }
  if (request_.image && !request_.image->user.empty()) {
    command.argv = as_user(request_.image->user, command.argv);
  }
  command.env.insert(command.env.begin(), place_.env().begin(), place_.env().end());
  RunOptions options{.limits = request_.limits,
                     .stdin_fd = request_.stdin_fd,
                     .cancel_fd = request_.cancel_fd,
                     .cancel_signal = request_.cancel_signal,
                     .strict = request_.strict};
  options.observer.out = observer_.out;
  options.observer.err = observer_.err;
  options.observer.started = started("run");
  RunOutcome outcome = GB_TRY(place_.for_program().run(command, options, place_.compiled()));
  verdict().timings.push_back({"first_event", outcome.first_event});
  verdict().timings.push_back({"run", outcome.usage.wall});
  if (request_.strict) {
    verdict().walls.seccomp = "strict";
  }
  conclude(verdict(), std::move(outcome));
  return {};
}

}  // namespace glovebox
