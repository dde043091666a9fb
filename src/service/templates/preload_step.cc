// SPDX-License-Identifier: Apache-2.0
#include "service/templates/preload_step.h"

#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "sandbox/sandbox.h"
#include "service/templates/workspace_step.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;

// About what a zygote has.
constexpr Limits kLimits{.wall = 120s,
                         .memory = 2_GiB,
                         .cpus = 2.0,
                         .pids = 256,
                         .disk = 64_MiB,
                         .inodes = 4'096,
                         .open_files = 1'024,
                         .output = 64_KiB};

constexpr const char* kScript = R"py(
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:
        print(f"warning: cannot preload '{name}': {type(error).__name__}: {error}", flush=True)
)py";

Result<RunOutcome> import_all(const Recipe& recipe,
                              const TemplateParts& parts,
                              const ContentStore& store,
                              BuildMonitor& monitor) {
  const auto sandbox = GB_TRY(Sandbox::create(sandbox_of(parts, store, kLimits), {}));
  RunOptions options{.limits = kLimits, .cancel_fd = monitor.cancel_fd()};
  options.observer.out =
      options.observer.err = [&monitor](std::string_view text) { monitor.log(text); };
  Command command{.argv = {"python3", "-B", "-s", "-c", kScript}, .env = {}, .cwd = {}};
  command.argv.insert(command.argv.end(), recipe.preload.begin(), recipe.preload.end());
  RunOutcome outcome = GB_TRY(sandbox->run(command, options));
  GB_TRY(sandbox->end());
  return outcome;
}

}  // namespace

Result<void> try_preload(const Recipe& recipe,
                         const TemplateParts& parts,
                         const ContentStore& store,
                         BuildMonitor& monitor) {
  if (recipe.preload.empty()) {
    return {};
  }
  const auto outcome = import_all(recipe, parts, store, monitor);
  if (!monitor.wanted()) {
    return Error(ErrorCode::kUnavailable, "canceled");
  }
  if (!outcome) {
    monitor.log("warning: cannot preload anything: " + printable(outcome.error().message()) + "\n");
  } else if (outcome->status != Status::kOk) {
    monitor.log("warning: importing the modules to preload ended with '" +
                std::string(to_string(outcome->status)) + "'\n");
  }
  return {};
}

}  // namespace glovebox
