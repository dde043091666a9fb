// SPDX-License-Identifier: Apache-2.0
#include "sandbox/policy/policy.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sandbox/policy/compiler.h"
#include "sandbox/policy/tables.h"
#include "sandbox/policy/watched.h"

namespace glovebox::policy {
namespace {

constexpr std::size_t kMaxRules = 320;

struct RuleTable {
  std::array<Rule, kMaxRules> rules{};
  std::size_t size = 0;
};

// Adds the groups' calls; a later group replaces what an earlier one said of the same call.
template <std::size_t N>
consteval void add(RuleTable& table, const std::array<Group, N>& groups) {
  for (const Group& group : groups) {
    for (const std::uint32_t call : group.calls) {
      bool replaced = false;
      for (std::size_t i = 0; i < table.size; ++i) {
        if (table.rules[i].number == call) {
          table.rules[i].answer = group.answer;
          replaced = true;
        }
      }
      if (!replaced) {
        table.rules[table.size++] = Rule{call, group.answer};
      }
    }
  }
}

consteval Program compile_sorted(RuleTable table, Answer otherwise, Answer unknown) {
  std::sort(table.rules.begin(), table.rules.begin() + table.size,
            [](const Rule& a, const Rule& b) { return a.number < b.number; });
  return compile(std::span<const Rule>(table.rules.data(), table.size), otherwise, kLastReviewed,
                 unknown);
}

enum class Watch { kNone, kCalls };

// The default policy, with `answer` for what is watched.
consteval RuleTable watched_default(Answer answer) {
  RuleTable table;
  add(table, kDefaultGroups);
  for (std::size_t i = 0; i < table.size; ++i) {
    for (const WatchedName& watched : kWatchedRefusals) {
      if (table.rules[i].number == watched.number) {
        table.rules[i].answer = answer;
      }
    }
  }
  return table;
}

consteval RuleTable default_table(Watch watch) {
  RuleTable table;
  if (watch == Watch::kCalls) {
    table = watched_default(ask());
    add(table, kWatchedGroups);
  } else {
    add(table, kDefaultGroups);
  }
  return table;
}

consteval Program make_default(Watch watch) {
  return compile_sorted(default_table(watch), allow(), refuse(ENOSYS));
}

consteval Program make_root(Watch watch) {
  RuleTable table = default_table(watch);
  add(table, kRootGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_nested(Watch watch) {
  RuleTable table = default_table(watch);
  add(table, kNestedGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_own_kernel() {
  RuleTable table;
  add(table, kDefaultGroups);
  add(table, kOwnKernelGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_no_namespaces() {
  RuleTable table;
  add(table, kDefaultGroups);
  add(table, kNoNamespacesGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_shared_user() {
  RuleTable table;
  add(table, kDefaultGroups);
  add(table, kNoNamespacesGroups);
  add(table, kSharedUserGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_guest() {
  RuleTable table;
  add(table, kGuestGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_fork(Watch watch) {
  RuleTable table;
  if (watch == Watch::kCalls) {
    table = watched_default(allow());
    add(table, kWatchedForkGroups);
  } else {
    add(table, kDefaultGroups);
  }
  add(table, kGuestGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_zygote(Watch watch) {
  RuleTable table = default_table(watch);
  add(table, kZygoteGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_no_memory_programs() {
  RuleTable table;
  add(table, kNoMemoryProgramsGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_no_hidden_memory() {
  RuleTable table;
  add(table, kNoHiddenMemoryGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_strict() {
  RuleTable table;
  add(table, kStrictGroups);
  return compile_sorted(table, refuse(EPERM), refuse(ENOSYS));
}

consteval Program make_runner() {
  RuleTable table;
  add(table, kRunnerGroups);
  return compile_sorted(table, refuse(EPERM), refuse(ENOSYS));
}

consteval Program make_no_programs() {
  RuleTable table;
  add(table, kNoProgramsGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

consteval Program make_no_new_code() {
  RuleTable table;
  add(table, kNoNewCodeGroups);
  return compile_sorted(table, allow(), refuse(ENOSYS));
}

// A jump to what comes next takes no machine code at all (arch/x86/net/bpf_jit_comp.c).
consteval std::array<sock_filter, BPF_MAXINSNS> make_spacer() {
  std::array<sock_filter, BPF_MAXINSNS> code{};
  code.fill({BPF_JMP | BPF_JA, 0, 0, 0});
  code.front() = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  code.back() = code.front();
  return code;
}

struct RefusalTable {
  std::array<Refusal, kMaxRules> refusals{};
  std::size_t size = 0;
};

consteval RefusalTable list_refusals() {
  RefusalTable table;
  for (const Group& group : kDefaultGroups) {
    if (group.answer.check == Check::kNone && group.answer.value != SECCOMP_RET_ALLOW) {
      for (const std::uint32_t call : group.calls) {
        table.refusals[table.size++] =
            Refusal{static_cast<int>(call), static_cast<int>(group.answer.value & SECCOMP_RET_DATA),
                    group.name};
      }
    }
  }
  return table;
}

constexpr Program kDefault = make_default(Watch::kNone);
constexpr Program kWatchedDefault = make_default(Watch::kCalls);
constexpr Program kRoot = make_root(Watch::kNone);
constexpr Program kWatchedRoot = make_root(Watch::kCalls);
constexpr Program kNested = make_nested(Watch::kNone);
constexpr Program kWatchedNested = make_nested(Watch::kCalls);
constexpr Program kOwnKernel = make_own_kernel();
constexpr Program kNoNamespaces = make_no_namespaces();
constexpr Program kSharedUser = make_shared_user();
constexpr Program kGuest = make_guest();
constexpr Program kFork = make_fork(Watch::kNone);
constexpr Program kWatchedFork = make_fork(Watch::kCalls);
constexpr Program kZygote = make_zygote(Watch::kNone);
constexpr Program kWatchedZygote = make_zygote(Watch::kCalls);
constexpr Program kNoMemoryPrograms = make_no_memory_programs();
constexpr Program kNoHiddenMemory = make_no_hidden_memory();
constexpr Program kStrict = make_strict();
constexpr Program kRunner = make_runner();
constexpr Program kNoPrograms = make_no_programs();
constexpr Program kNoNewCode = make_no_new_code();
constexpr auto kSpacer = make_spacer();
constexpr RefusalTable kRefusals = list_refusals();

}  // namespace

Filter default_filter() { return kDefault.instructions(); }
Filter watched_default_filter() { return kWatchedDefault.instructions(); }
Filter root_filter() { return kRoot.instructions(); }
Filter watched_root_filter() { return kWatchedRoot.instructions(); }
Filter nested_filter() { return kNested.instructions(); }
Filter watched_nested_filter() { return kWatchedNested.instructions(); }
Filter spacer_filter() { return kSpacer; }
Filter own_kernel_filter() { return kOwnKernel.instructions(); }
Filter no_namespaces_filter() { return kNoNamespaces.instructions(); }
Filter shared_user_filter() { return kSharedUser.instructions(); }
Filter guest_filter() { return kGuest.instructions(); }
Filter fork_filter() { return kFork.instructions(); }
Filter watched_fork_filter() { return kWatchedFork.instructions(); }
Filter zygote_filter() { return kZygote.instructions(); }
Filter watched_zygote_filter() { return kWatchedZygote.instructions(); }
Filter no_memory_programs_filter() { return kNoMemoryPrograms.instructions(); }
Filter no_hidden_memory_filter() { return kNoHiddenMemory.instructions(); }
Filter strict_filter() { return kStrict.instructions(); }
Filter runner_filter() { return kRunner.instructions(); }
Filter no_programs_filter() { return kNoPrograms.instructions(); }
Filter no_new_code_filter() { return kNoNewCode.instructions(); }

std::optional<WatchedCall> watched_call(int number) {
  if (number == SYS_execve || number == SYS_execveat) {
    return WatchedCall{.name = number == SYS_execve ? "execve" : "execveat", .error = 0};
  }
  if (number == SYS_clone) {
    return WatchedCall{.name = "clone", .error = EPERM};
  }
  const auto watched =
      std::ranges::find(kWatchedRefusals, static_cast<std::uint32_t>(number), &WatchedName::number);
  const auto refusals = default_refusals();
  const auto refused = std::ranges::find(refusals, number, &Refusal::number);
  if (watched == kWatchedRefusals.end() || refused == refusals.end()) {
    return std::nullopt;
  }
  return WatchedCall{.name = watched->name, .error = refused->error};
}

std::span<const Refusal> default_refusals() { return {kRefusals.refusals.data(), kRefusals.size}; }

}  // namespace glovebox::policy
