// SPDX-License-Identifier: Apache-2.0
// DryRunning: one dry run of a context or of a command, from the checkpoint before it to the
// decision about it.
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

// For one thread at a time, like its context.
class DryRunning {
 public:
  // What it may change. All of it outlives the dry run.
  struct Place {
    Sandbox& sandbox;
    Context* context = nullptr;      // Null: a command; its files and processes are taken back.
    HeldNetwork* network = nullptr;  // Null: the sandbox has none.
  };
  // Makes the checkpoint, and closes the sandbox's network unless `network_open`. Fails as
  // Context::checkpoint(); for a command, kUnsupported in a tier whose processes the host does not
  // see, or as Sandbox::snapshot().
  static Result<std::unique_ptr<DryRunning>> begin(const Place& place,
                                                   bool network_open,
                                                   DryRun named);
  DryRunning(const DryRunning&) = delete;
  DryRunning& operator=(const DryRunning&) = delete;

  // After the execution: finds what it has changed, and lets nothing out from now on.
  void conclude(const std::vector<RefusedCall>& refused);
  [[nodiscard]] const DryRun& run() const { return run_; }
  void set_expiry(std::chrono::system_clock::time_point expires) { run_.expires = expires; }

  // Keeps what it has changed. kConflict if files are not as run() shows them, because something
  // that was left behind still runs; then run() shows them as they are now.
  Result<void> commit();

  // Takes it back: memory and files are as they were, and what was started has ended. May be tried
  // again after an error.
  Result<void> discard();

 private:
  DryRunning(const Place& place, DryRun named, std::uint32_t checkpoint)
      : place_(place), run_(std::move(named)), checkpoint_(checkpoint) {}
  // The checkpoint: of the context, or of the files alone.
  static Result<std::uint32_t> take(const Place& place);
  Result<void> take_back();
  Result<void> forget();
  void compare_variables();
  void find_processes();
  void find_hosts();
  // False if they differ from what it found before.
  bool find_files();
  void show_files();
  [[nodiscard]] std::string diff_of(const FileDifference& file, std::size_t most);
  Result<void> reopen();

  const Place place_;
  DryRun run_;
  const std::uint32_t checkpoint_;
  std::vector<GuestSeen> processes_before_;
  std::optional<std::vector<agent::Variable>> variables_before_;
  std::size_t connections_before_ = 0;
  Sandbox::Differences differences_;
};

}  // namespace glovebox::keeper
