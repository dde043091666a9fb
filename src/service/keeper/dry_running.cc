// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/dry_running.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/diff/unified_diff.h"
#include "base/text.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;
using Kind = FileDifference::Kind;
using Type = FileDifference::Type;

// What an interpreter may take to describe its variables.
constexpr auto kVariablesPatience = 2s;
// Of all diffs together, and of the comparison of one file's lines.
constexpr auto kDiffPatience = 500ms;
constexpr std::size_t kDiffSteps = 1'000'000;
constexpr std::size_t kMostShownVariableBytes = 128UL * 1024;

std::optional<std::vector<agent::Variable>> variables_of(Context* context) {
  if (context == nullptr || !context->alive() || !context->can("variables")) {
    return std::nullopt;
  }
  auto told = context->variables(kVariablesPatience);
  return told ? std::optional(std::move(told).value()) : std::nullopt;
}

DryRun::Value value_of(const agent::Variable& variable) {
  return {.type = variable.type + (variable.size.empty() ? "" : " (" + variable.size + ")"),
          .value = variable.value};
}

std::size_t bytes_of(const std::optional<DryRun::Value>& value) {
  return value ? value->type.size() + value->value.size() : 0;
}

}  // namespace

Result<std::uint32_t> DryRunning::take(const Place& place) {
  if (place.context != nullptr) {
    return place.context->checkpoint(nullptr, true);
  }
  const TierFeatures& features = place.sandbox.features();
  if (features.own_kernel || !features.own_root || !features.returns_descriptors) {
    return Error(ErrorCode::kUnsupported,
                 "the tier '" + std::string(place.sandbox.tier()) + "' has no dry runs",
                 "use the tier native");
  }
  const std::uint32_t number = place.sandbox.unused_number();
  GB_TRY(place.sandbox.snapshot(number, true));
  return number;
}

Result<std::unique_ptr<DryRunning>> DryRunning::begin(const Place& place,
                                                      bool network_open,
                                                      DryRun named) {
  const std::uint32_t checkpoint = GB_TRY(take(place));
  std::unique_ptr<DryRunning> running(new DryRunning(place, std::move(named), checkpoint));
  running->processes_before_ = place.sandbox.seen_processes();
  // After the checkpoint: what describing a value changes is taken back, too.
  running->variables_before_ = variables_of(place.context);
  if (place.network != nullptr) {
    running->connections_before_ = place.network->connections().connections.size();
    if (auto closed = network_open ? Result<void>() : place.network->close(); !closed) {
      (void)running->discard();
      return std::move(closed).error().within("close the network for a dry run");
    }
  }
  return running;
}

void DryRunning::conclude(const std::vector<RefusedCall>& refused) {
  if (place_.network != nullptr) {
    place_.network->shut();
    find_hosts();
  }
  for (const RefusedCall& call : refused) {
    run_.tool_calls.push_back({.name = call.name, .arguments = call.arguments});
  }
  compare_variables();
  find_processes();
  (void)find_files();
  show_files();
}

void DryRunning::compare_variables() {
  const auto now = variables_before_ ? variables_of(place_.context) : std::nullopt;
  if (!now) {
    return;
  }
  run_.variables.emplace();
  // If an agent listed as many as it can, what its list lacks may exist all the same.
  run_.variables_truncated =
      now->size() >= agent::kMaxVariables || variables_before_->size() >= agent::kMaxVariables;
  std::size_t bytes = 0;
  const auto add = [&](const agent::Variable* before, const agent::Variable* after) {
    DryRun::Variable changed{.name = (after != nullptr ? after : before)->name};
    if (before != nullptr) {
      changed.before = value_of(*before);
    }
    if (after != nullptr) {
      changed.now = value_of(*after);
    }
    bytes += changed.name.size() + bytes_of(changed.before) + bytes_of(changed.now);
    if (run_.variables->size() < DryRun::kMostVariables && bytes <= kMostShownVariableBytes) {
      run_.variables->push_back(std::move(changed));
    } else {
      run_.variables_truncated = true;
    }
  };
  // Both are sorted by name.
  auto before = variables_before_->begin();
  auto after = now->begin();
  while (before != variables_before_->end() || after != now->end()) {
    if (after == now->end() || (before != variables_before_->end() && before->name < after->name)) {
      add(&*before++, nullptr);
    } else if (before == variables_before_->end() || after->name < before->name) {
      add(nullptr, &*after++);
    } else {
      if (*before != *after) {
        add(&*before, &*after);
      }
      ++before;
      ++after;
    }
  }
}

void DryRunning::find_processes() {
  run_.processes.clear();
  for (GuestSeen& process : place_.sandbox.seen_processes()) {
    const bool known = std::ranges::any_of(processes_before_, [&](const GuestSeen& before) {
      return before.outside == process.outside && before.started == process.started;
    });
    if (!known && run_.processes.size() < DryRun::kMostProcesses) {
      run_.processes.push_back({.pid = process.inside, .command = std::move(process.command)});
    }
  }
}

void DryRunning::find_hosts() {
  const SandboxConnections all = place_.network->connections();
  for (std::size_t i = connections_before_; i < all.connections.size(); ++i) {
    const ConnectionRecord& each = all.connections[i];
    DryRun::Host host{.host = each.host,
                      .port = each.port,
                      .verdict = std::string(to_string(each.verdict))};
    if (run_.hosts.size() < DryRun::kMostHosts &&
        std::ranges::find(run_.hosts, host) == run_.hosts.end()) {
      run_.hosts.push_back(std::move(host));
    }
  }
}

bool DryRunning::find_files() {
  auto found = place_.sandbox.compare(checkpoint_);
  Sandbox::Differences now = found ? std::move(found).value() : Sandbox::Differences{{}, true};
  const bool same = now.files == differences_.files && now.truncated == differences_.truncated;
  differences_ = std::move(now);
  return same;
}

void DryRunning::show_files() {
  run_.files.clear();
  run_.files_truncated = differences_.truncated;
  std::size_t path_bytes = 0;
  std::size_t diff_bytes = 0;
  const auto until = std::chrono::steady_clock::now() + kDiffPatience;
  for (const FileDifference& file : differences_.files) {
    path_bytes += file.path.size();
    if (run_.files.size() >= DryRun::kMostFiles || path_bytes > DryRun::kMostFileBytes) {
      run_.files_truncated = true;
      return;
    }
    DryRun::File shown{.what = file};
    if (std::chrono::steady_clock::now() < until) {
      shown.diff = diff_of(file, DryRun::kMostDiffBytes - diff_bytes);
      diff_bytes += shown.diff.size();
    }
    run_.files.push_back(std::move(shown));
  }
}

// Empty if the file is not a short text, or has no content at all.
std::string DryRunning::diff_of(const FileDifference& file, std::size_t most) {
  const bool readable = file.type == Type::kFile || file.type == Type::kLink;
  if (!readable || std::max(file.size, file.size_before) > DryRun::kMostDiffed) {
    return {};
  }
  const auto content = [&](Sandbox::Version version, bool none) -> std::optional<std::string> {
    if (none) {
      return std::string();
    }
    auto read = place_.sandbox.read_version(checkpoint_, file.path, version, DryRun::kMostDiffed);
    return read ? std::move(read).value() : std::nullopt;
  };
  const auto before = content(Sandbox::Version::kThen, file.kind == Kind::kAdded);
  const auto now = content(Sandbox::Version::kNow, file.kind == Kind::kDeleted);
  if (!before || !now || looks_binary(*before) || looks_binary(*now)) {
    return {};
  }
  const UnifiedDiff diff = unified_diff(*before, *now, kDiffSteps);
  const std::string name = printable(file.path);
  std::string text = "--- " + (file.kind == Kind::kAdded ? "/dev/null" : "a/" + name) + "\n+++ " +
                     (file.kind == Kind::kDeleted ? "/dev/null" : "b/" + name) + "\n" + diff.hunks;
  return diff.hunks.empty() || text.size() > most ? std::string() : text;
}

Result<void> DryRunning::take_back() {
  const auto end_others = [this] { return place_.sandbox.end_others(processes_before_); };
  if (place_.context != nullptr) {
    return place_.context->rollback(checkpoint_, end_others, true);
  }
  GB_TRY(end_others());
  return place_.sandbox.restore(checkpoint_, true);
}

Result<void> DryRunning::forget() {
  return place_.context != nullptr ? place_.context->release(checkpoint_)
                                   : place_.sandbox.drop_snapshot(checkpoint_);
}

Result<void> DryRunning::reopen() {
  return place_.network != nullptr ? place_.network->reopen() : Result<void>();
}

Result<void> DryRunning::commit() {
  if (!find_files()) {
    find_processes();
    show_files();
    return Error(ErrorCode::kConflict, "files have changed since the dry run was shown",
                 "look at it again: a process that it left behind continues");
  }
  GB_TRY(forget());
  return reopen();
}

Result<void> DryRunning::discard() {
  GB_TRY(take_back());
  GB_TRY(forget());
  return reopen();
}

}  // namespace glovebox::keeper
