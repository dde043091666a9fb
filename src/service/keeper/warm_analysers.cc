// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/warm_analysers.h"

#include <memory>
#include <string>
#include <utility>

#include "context/agent_files.h"
#include "language/registry.h"
#include "service/runs/analysis.h"
#include "service/runs/live_session.h"

namespace glovebox::keeper {
namespace {

Result<PoolSpec> describe_analysers() {
  const Registry registry = Registry::load({});
  const Language python = GB_TRY(find_live_language(registry, "python"));
  PoolSpec spec;
  spec.zygote.modules = {"analysis"};
  spec.zygote.env = {{"PYTHONPATH", std::string(kAgentsTarget) + "/analysers"}};
  spec.zygote.mounts = python.mounts;
  spec.sandbox.mounts = python.mounts;
  spec.sandbox.limits.memory = kAnalysisMemory;
  spec.sandbox.limits.pids = kAnalysisProcesses;
  spec.sandbox.limits.disk = kAnalysisDisk;
  spec.warm_up = R"(__import__("analysis").warm_up())";
  return spec;
}

}  // namespace

Result<std::shared_ptr<ContextPool>> WarmAnalysers::pool() {
  static const std::string kName = "analysis";  // Homes are absolute: no sandbox is of this kind.
  const TemplateOrder shows;
  return pools_.get({.home = kName, .shows = shows}, describe_analysers);
}

Result<LiveContext> WarmAnalysers::claim() {
  if (started_) {
    return GB_TRY(pool())->claim();
  }
  if (!starting_.exchange(true)) {
    post_([this] {
      const auto made = pool();
      started_ = made.has_value();
      starting_ = false;
    });
  }
  return Error(ErrorCode::kUnavailable, "no analyser is warm yet");
}

void WarmAnalysers::discard(LiveContext used) {
  if (const auto from = pool()) {
    from.value()->discard(std::move(used));
  }
}

}  // namespace glovebox::keeper
