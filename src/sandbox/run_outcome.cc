// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_outcome.h"

#include <sys/wait.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace glovebox {

void RunOutcome::set_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    signal = WTERMSIG(wait_status);
    exit_code = 128 + *signal;
  } else {
    exit_code = WEXITSTATUS(wait_status);
  }
}

void RunOutcome::hit(std::string_view name) {
  if (std::ranges::find(hits, name) == hits.end()) {
    hits.emplace_back(name);
  }
}

void RunOutcome::time_out(std::string_view name) {
  status = Status::kTimeout;
  limit = name;
  hit(name);
}

void conclude(Verdict& verdict, RunOutcome outcome) {
  verdict.status = outcome.status;
  verdict.exit_code = outcome.exit_code;
  verdict.signal = outcome.signal;
  verdict.limit = std::move(outcome.limit);
  verdict.out = std::move(outcome.out);
  verdict.err = std::move(outcome.err);
  verdict.usage = outcome.usage;
  std::ranges::move(outcome.notes, std::back_inserter(verdict.notes));
  for (LimitReport& limit : verdict.limits) {
    limit.hit = std::ranges::find(outcome.hits, limit.name) != outcome.hits.end();
  }
}

}  // namespace glovebox
