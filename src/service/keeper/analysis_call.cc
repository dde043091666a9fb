// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/analysis_call.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "service/runs/analysis.h"
#include "spec/json/verdict_json.h"

namespace glovebox::keeper {
namespace {

// A call whose argument is a literal: JSON that has only ASCII, within a JSON string, has no
// escapes but of quotes and backslashes, which are those of Python.
std::string call_of(const std::string& units) {
  return "__import__('analysis').print_facts(" + nlohmann::json(units).dump() + ")";
}

}  // namespace

bool run_warm_analysis(const RunRequest& request, CallContext& context) {
  const auto units = request.files.find(std::string(kAnalysedFile));
  if (units == request.files.end()) {
    return false;
  }
  auto analyser = context.keeper.analysers().claim();
  if (!analyser) {
    return false;
  }
  Limits limits;
  limits.wall = kAnalysisTime;
  limits.memory = kAnalysisMemory;
  limits.pids = kAnalysisProcesses;
  limits.disk = kAnalysisDisk;
  limits.output = kAnalysisOutput;
  auto executed = analyser->context->execute({.code = call_of(units->second),
                                              .limits = limits,
                                              .store_history = false,
                                              .cancel_fd = context.socket});
  if (executed) {
    context.tell(
        verdict_event(make_verdict(*analyser->context, std::move(executed).value(), limits)));
  }
  context.keeper.analysers().discard(std::move(*analyser));
  return executed.has_value();
}

}  // namespace glovebox::keeper
