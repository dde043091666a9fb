// SPDX-License-Identifier: Apache-2.0
// What the tiers that run on the host's own kernel share: finding the warden's program, cloning
// into a plan, asking the kernel what it has.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/child/plan.h"
#include "sandbox/realm.h"

namespace glovebox {

// Our programs inside a sandbox: beside our own program, in ../libexec/glovebox, or in the
// directory of the file that GLOVEBOX_WARDEN names. Opened once in a process.
struct InnerPrograms {
  int warden;
  int archiver;
};
Result<InnerPrograms> inner_programs();

// The memory of a set-up: the child lives in it until its exec, so it must stay, unchanged, until
// then (child/plan.h).
struct SetupStacks {
  alignas(16) std::array<std::byte, 32UL * 1024> main;
  alignas(16) std::array<std::byte, 16UL * 1024> network;
  alignas(16) std::array<std::byte, 16UL * 1024> descent;
};

// Where a new process is born.
struct Birthplace {
  std::uint64_t flags = 0;       // CLONE_… flags of clone(2).
  int cgroup_fd = -1;            // A v2 group, or -1.
  const Realm* realm = nullptr;  // None: in our own namespaces.
  // As root, outside of realms: the user who is charged for the new user namespace; zero: root.
  uid_t charged_to = 0;
  // The maps of its user namespace, with CLONE_NEWUSER (user_namespaces(7)). A map of more than our
  // own id needs root.
  std::string_view uid_map{};
  std::string_view gid_map{};
  // With CLONE_NEWUSER, as an ordinary user outside realms: a user namespace that exists and is
  // mapped already, in place of a new one (sandbox/subordinate_ids.h).
  int user_namespace = -1;
};

// A new process that runs `plan` on a stack of its own, as our child; the ids of its user namespace
// are mapped when this returns. Completes the plan. The pid is known only if root makes the child,
// outside realms.
//
// Until its exec it lives in our memory (as an ordinary user with a user namespace: in a copy), and
// has our descriptors. So this makes our process undumpable for good: other processes in the
// child's pid namespace, which may have power over its user namespace, must not reach into it
// (ptrace(2), "Ptrace access mode checking").
//
// Safe in a program with threads: the child makes system calls only.
struct Cloned {
  pid_t pid = 0;
  UniqueFd pidfd;
};
Result<Cloned> clone_into(child::Plan& plan, SetupStacks& stacks, const Birthplace& where);

// A pidfd of the calling process, by which a child notices its death.
Result<UniqueFd> own_pidfd();

// A child whose sandbox is not complete yet: killed and reaped unless it is kept.
class Unborn {
 public:
  explicit Unborn(Cloned child) : child_(std::move(child)) {}
  Unborn(const Unborn&) = delete;
  Unborn& operator=(const Unborn&) = delete;
  ~Unborn();

  [[nodiscard]] pid_t pid() const { return child_.pid; }
  [[nodiscard]] int pidfd() const { return child_.pidfd.get(); }
  [[nodiscard]] UniqueFd keep() { return std::move(child_.pidfd); }

 private:
  Cloned child_;
};

// Tells the child that its limits stand, with the cgroups (v1) that it joins.
Result<void> admit(int control_fd, std::span<const int> cgroup_tasks);

// The Landlock ABI of this kernel; 0 when it has none or it is switched off.
int landlock_abi();

// All file system rights that ABI knows.
std::uint64_t landlock_fs_rights(int abi);

}  // namespace glovebox
