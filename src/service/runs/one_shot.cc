// SPDX-License-Identifier: Apache-2.0
#include "service/runs/one_shot.h"

#include <utility>
#include <vector>

#include "service/runs/compiled_elsewhere.h"
#include "service/runs/one_run.h"
#include "service/runs/run_plan.h"

namespace glovebox {

Result<OneShotResult> run_once(const OneShot& request, const OneShotObserver& observer) {
  RunPlan plan = GB_TRY(plan_run(request));
  if (plan.compiles_elsewhere) {
    return run_compiled_elsewhere(request, plan, observer);
  }
  OneRun run = GB_TRY(OneRun::begin(request, observer, std::move(plan)));
  GB_TRY(run.put_in());
  std::vector<CheckReport> reports;
  if (GB_TRY(run.compile())) {
    GB_TRY(run.run_program());
    GB_TRY(run.verify());
    reports = GB_TRY(run.check_with_commands());
  }
  GB_TRY(run.collect());
  GB_TRY(run.check_result(std::move(reports)));
  return std::move(run).end();
}

}  // namespace glovebox
