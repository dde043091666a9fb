// SPDX-License-Identifier: Apache-2.0
// glovebox pool: sandboxes made ahead of demand, for `glovebox run`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/interrupts.h"
#include "sandbox/slot.h"
#include "service/sandbox_pool.h"

namespace glovebox::cli {
namespace {

constexpr const char* kFooter =
    R"(While it runs, each 'glovebox run' of yours takes its sandbox from here, which halves its time.
Each sandbox is used once. Which are made follows from the runs: the first one of a language, or
with other limits, still makes its own. So does one with packages, one from a place where sandboxes
would be others (another cgroup, other resource limits, other processors), and 'run --no-pool'.

Ctrl-C or SIGTERM ends it, when the runs that have a sandbox of it are done; twice ends these too.

Examples:
  glovebox pool &
  glovebox pool --size 16 &)";

struct PoolOptions {
  std::size_t size = 4;
};

Result<int> keep(const PoolOptions& options) {
  const Interrupts stop;
  (void)sweep_leftovers();
  const auto pool = GB_TRY(SandboxPool::open(options.size));
  bool told = false;
  const auto full = [&told, &options] {
    if (!std::exchange(told, true)) {
      std::cout << "ready: " << options.size << " sandboxes for 'glovebox run'\n" << std::flush;
    }
  };
  GB_TRY(pool->serve(stop.fd(), full));
  return 0;
}

}  // namespace

void add_pool(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("pool", "Keep sandboxes ready for 'glovebox run'");
  command->footer(kFooter);
  auto options = std::make_shared<PoolOptions>();
  command->add_option("--size", options->size, "How many of each kind wait (4)")
      ->check(CLI::Range(std::size_t{1}, SandboxPool::kMostSandboxes));
  command->callback([action, options] { *action = [options] { return ended(keep(*options)); }; });
}

}  // namespace glovebox::cli
