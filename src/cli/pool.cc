// SPDX-License-Identifier: Apache-2.0
// glovebox pool: sandboxes made ahead of demand, for `glovebox run`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/interrupts.h"
#include "sandbox/slot.h"
#include "service/run_pool/sandbox_pool.h"

namespace glovebox::cli {
namespace {

constexpr const char* kPoolFooter =
    R"(While the pool is running, each of your 'glovebox run' commands takes its sandbox from it,
which halves the run's time. Each sandbox is used once. The pool learns which sandboxes to keep from
your runs: the first run of a language, or with different limits, still creates its own sandbox. So
does a run with packages, with --no-pool, or with a different cgroup, resource limits or CPU set.

Ctrl-C or SIGTERM stops the pool once the runs that use its sandboxes are done; a second signal ends
those runs too.

Examples:
  glovebox pool &
  glovebox pool --size 16 &)";

struct PoolOptions {
  std::size_t size = 4;
};

Result<int> keep(const PoolOptions& options) {
  const Interrupts stop;
  (void)sweep_leftovers();
  const auto full = [told = false, size = options.size]() mutable {
    if (!std::exchange(told, true)) {
      std::cout << "ready: " << size << " sandboxes for 'glovebox run'\n" << std::flush;
    }
  };
  const auto pool = GB_TRY(SandboxPool::open(options.size, full));
  pool->serve(stop.fd());
  return 0;
}

}  // namespace

void add_pool(CLI::App& app, Action* action) {
  auto* const command = app.add_subcommand("pool", "Keep sandboxes ready for 'glovebox run'");
  command->footer(kPoolFooter);
  auto options = std::make_shared<PoolOptions>();
  command
      ->add_option("--size", options->size,
                   "How many sandboxes of each kind to keep ready [default: 4]")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, SandboxPool::kMostSandboxes));
  command->callback([action, options] { *action = [options] { return ended(keep(*options)); }; });
}

}  // namespace glovebox::cli
