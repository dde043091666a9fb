// SPDX-License-Identifier: Apache-2.0
// DryRunning: one dry run of a context, from the checkpoint before it to the decision about it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "context/context.h"
#include "sandbox/sandbox.h"
#include "service/keeper/held_network.h"
#include "spec/dry_run.h"

namespace glovebox::keeper {

// For one thread at a time, as its context.
class DryRunning {
 public:
  // Makes the checkpoint, and closes the sandbox's network unless that is to stay open. The context
  // and the network, which may be absent, outlive it. Fails as Context::checkpoint().
  static Result<std::unique_ptr<DryRunning>> begin(Context& context,
                                                   HeldNetwork* network,
                                                   bool network_open,
                                                   DryRun named);
  DryRunning(const DryRunning&) = delete;
  DryRunning& operator=(const DryRunning&) = delete;

  // After the execution: finds what it has changed, and lets nothing out from now on.
  void conclude(const Execution& execution);
  [[nodiscard]] const DryRun& run() const { return run_; }
  void set_expiry(std::chrono::system_clock::time_point expires) { run_.expires = expires; }

  // Keeps what it has changed. kConflict where files are not as run() tells them, because something
  // that was left behind goes on; then run() tells them as they are now.
  Result<void> commit();

  // Memory and files are as they were, and what was started has ended. May be tried again after an
  // error.
  Result<void> discard();

 private:
  DryRunning(Context& context, HeldNetwork* network, DryRun named, std::uint32_t checkpoint)
      : context_(context), network_(network), run_(std::move(named)), checkpoint_(checkpoint) {}
  void compare_variables();
  void find_processes();
  void find_hosts();
  // False where they are not as they were found before.
  bool find_files();
  void show_files();
  [[nodiscard]] std::string diff_of(const FileDifference& file, std::size_t most);
  Result<void> reopen();

  Context& context_;
  HeldNetwork* const network_;
  DryRun run_;
  const std::uint32_t checkpoint_;
  std::vector<GuestSeen> processes_before_;
  std::optional<std::vector<agent::Variable>> variables_before_;
  std::size_t connections_before_ = 0;
  Sandbox::Differences differences_;
};

}  // namespace glovebox::keeper
