// SPDX-License-Identifier: Apache-2.0
#include "service/runs/one_run.h"

#include <utility>

namespace glovebox {

Result<OneRun> OneRun::begin(const OneShot& request,
                             const OneShotObserver& observer,
                             RunPlan plan) {
  RunPlace place = GB_TRY(RunPlace::find(request, plan, observer));
  return OneRun(request, observer, std::move(plan), std::move(place));
}

OneRun::OneRun(const OneShot& request,
               const OneShotObserver& observer,
               RunPlan plan,
               RunPlace place)
    : request_(request), observer_(observer), plan_(std::move(plan)), place_(std::move(place)) {
  result_.verdict = place_.first_verdict(request_.language.id, request_.limits);
}

std::function<void()> OneRun::started(std::string_view phase) const {
  if (!observer_.started) {
    return {};
  }
  return [this, phase] { observer_.started(place_->id(), phase); };
}

bool OneRun::begins_bare() const {
  const bool empty = request_.files.empty() && request_.contents.empty() &&
                     !request_.in_place.empty() &&
                     (!request_.image || request_.image->workspace.empty());
  // Root can change and delete files there without making any.
  return empty && place_->walls().user != "root";
}

Result<OneShotResult> OneRun::end() && {
  GB_TRY(place_.end(result_));
  return std::move(result_);
}

}  // namespace glovebox
