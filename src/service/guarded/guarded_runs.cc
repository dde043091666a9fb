// SPDX-License-Identifier: Apache-2.0
// GuardedService's runs: what is executed once, in a sandbox of its own.
#include <optional>
#include <utility>

#include "audit/recordings.h"
#include "base/text.h"
#include "service/guarded/deeds.h"
#include "service/guarded/guarded_service.h"
#include "service/guarded/policy_demands.h"
#include "spec/json/verdict_json.h"

namespace glovebox {
namespace {

using enum Need;

}  // namespace

Result<void> GuardedService::judge(const Caller& caller,
                                   const JudgeRequest& request,
                                   const EventSink& sink) {
  return recorder_.execute(caller, deed_of(request, recorder_.trail()), guard_.work(caller), sink,
                           [&](const EventSink& watched) -> Result<void> {
                             const PolicyDemands demands =
                                 GB_TRY(policies_.holding().demands(caller, request.program));
                             const auto judge = [&](const JudgeRequest& raised) -> Result<void> {
                               GB_TRY(policies_.judge(caller, raised, watched));
                               return inner_.judge(caller, raised, watched);
                             };
                             return with_demands(request, demands, judge);
                           });
}

Result<void> GuardedService::run_in_template(const Caller& caller,
                                             const RunRequest& request,
                                             const EventSink& sink) {
  const PolicyDemands demands = GB_TRY(policies_.holding().demands(caller, request));
  return with_demands(request, demands, [&](const RunRequest& raised) -> Result<void> {
    GB_TRY(policies_.run(caller, raised, sink));
    if (raised.checks.reviews.empty()) {
      return inner_.run(caller, raised, sink);
    }
    // The sandbox has ended when the verdict is passed on.
    std::string verdict;
    GB_TRY(inner_.run(caller, raised, [&](std::string_view event) {
      if (is_verdict_event(event)) {
        verdict = event;
        return true;
      }
      return sink(event);
    }));
    if (!verdict.empty()) {
      (void)sink(policies_.reviews().reviewed(caller, raised, verdict, sink));
    }
    return {};
  });
}

Result<void> GuardedService::run(const Caller& caller,
                                 const RunRequest& request,
                                 const EventSink& sink) {
  Result<void> may = guard_.work(caller);
  const bool replays = !request.replay_network.empty();
  if (may && replays) {
    may = guard_.tenant(caller, kAdmin);
  }
  NetworkTape tape;
  return recorder_.execute(
      caller, deed_of(request, recorder_.trail()), std::move(may), sink,
      [&](const EventSink& watched) -> Result<void> {
        if (replays) {
          tape.recording = GB_TRY(recording_of(caller, request.replay_network));
        }
        std::optional<RunRequest> changed;  // A request may have megabytes of files.
        if (!request.image.empty()) {
          const auto wanted = [&watched] { return watched({}); };
          changed = GB_TRY(images_.in_place_of_image(caller, request, wanted));
        }
        if (tape.recording || tape.room > 0) {
          changed = changed ? std::move(changed) : request;
          changed->tape = std::move(tape);
        }
        return run_in_template(caller, changed ? *changed : request, watched);
      },
      !replays && lets_out(request.network) ? &tape : nullptr);
}

// What the network answered to a run that the caller may read about.
Result<std::string> GuardedService::recording_of(const Caller& caller, const std::string& run) {
  const audit::Page found =
      GB_TRY(audit_records(caller, {.newest = 1, .action = "run.end", .sandbox = run}));
  const Error none(ErrorCode::kNotFound,
                   "no network was recorded of the run '" + printable(run) + "'",
                   "runs are recorded for this while the daemon runs with --audit-network");
  if (found.records.empty() || recorder_.trail() == nullptr ||
      recorder_.trail()->recordings() == nullptr) {
    return none;
  }
  const audit::Record& end = found.records.front();
  const auto claim = audit::recording_claim(end);
  return claim
             ? recorder_.trail()->recordings()->read(end.entry.tenant, claim->start, claim->sha256)
             : Result<std::string>(none);
}

}  // namespace glovebox
