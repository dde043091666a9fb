// SPDX-License-Identifier: Apache-2.0
// SandboxSpec: what a sandbox should be. A plain value.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/realm.h"
#include "spec/command.h"
#include "spec/guest.h"
#include "spec/guest_rules.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox {

// A file system on disk, lent to one sandbox: its mount becomes a part of that sandbox, and its
// files keep their owners' numbers, as ids inside. Only the native tier, as root, can do so.
struct Attachment {
  // A detached mount (fsmount(2)) that was never attached before. The caller's; needed by create()
  // only. The mount itself decides whether it can be written to; set-user-id programs and devices
  // never work.
  int mount_fd = -1;
  // An absolute path inside: the workspace's (SandboxSpec::home), or another that is empty.
  std::string target;
};

// A file system on disk for a root guest: its workspace, and all that it changes of its root but
// for /run, /tmp, /dev and new names at the top.
struct RootDisk {
  // As an Attachment's; but set-user-id programs work.
  int mount_fd = -1;
  // Nothing of a sandbox is in it yet.
  bool fresh = true;
};

// Whether guests may have something mounted at these targets: each outside the parts of the system,
// and neither above nor below another. kInvalid says what is wrong.
Result<void> check_targets(const std::vector<Attachment>& attachments, std::string_view home);

// The type of a mount's source as stat(2) has it (S_IFDIR, …), or nothing for an optional one that
// is not there. kInvalid for a target that is not an absolute path without "..".
Result<std::optional<mode_t>> type_of(const Mount& mount);

struct SandboxSpec {
  // Its id; empty: a random one.
  std::string id{};

  // The limits at the start; a run can lower or raise those of the cgroup for itself.
  Limits limits;

  // Every process gets it, before what its own Command adds.
  Environment env;

  // Shown in place of the host's own /usr, /etc and so on: a directory outside with the top of a
  // root file system, absolute. Its content may be malicious; nothing in it leads outside. It must
  // have been prepared (sandbox/foreign_root.h) and must no longer change. Empty: the host's.
  // Only a tier with a root of its own can show it.
  std::string root{};

  // Read-only pieces of the host beside the template's own /usr: what a language keeps in /etc.
  std::vector<Mount> mounts;

  // Files of ours in kOwnFiles, which guests can read but not change. Only a tier with a root of
  // its own has them.
  struct OwnFile {
    std::string name;
    std::string content;
    // A file inside that this one covers, if it exists; empty: none.
    std::string shown_at{};
  };
  static constexpr std::string_view kOwnFiles = "/run/glovebox";
  std::vector<OwnFile> own_files{};

  // File systems that outlive it.
  std::vector<Attachment> attachments{};

  std::string hostname = "glovebox";

  // Where the workspace is, and the guest's name there; /workspace always leads to it. Only a tier
  // with a root of its own can change these: the others keep both as they are.
  std::string home{kWorkspace};
  std::string user = "guest";

  // The guest is root inside, with as many other users as the host has ids for it, the capabilities
  // of policy/capabilities.h, set-user-id programs that work, and a root that can be written,
  // within the limit of disk (tiers/native/written_root.cc). Only the native tier can do so.
  bool as_root = false;
  // With as_root: what it writes is here, not in memory.
  std::optional<RootDisk> root_disk{};
  // With as_root: the sandbox is not made if root would be the only user.
  bool needs_users = false;
  // With as_root: `user` may become root by sudo without a password, if the root has sudo.
  bool user_may_sudo = false;

  // The guest may make namespaces and mounts of its own, for tools that bring a sandbox: a bounded
  // number, under a filter of its own, without Landlock's rules for files. Only the native tier can
  // do so, and only if it limits memory; not for a guest that is root.
  bool nested = false;

  // Two runs of the same program with the same input do the same: no clock, no chance. Only a tier
  // with that trait can do so (TierTraits::is_deterministic).
  bool deterministic = false;

  // Descriptors are not passed even if the tier could: everything goes in frames, as in a tier
  // that has only a stream of bytes to its warden. For tests of such tiers.
  bool relay = false;

  // A port of its own 127.0.0.1 on which a socket listens for us (Sandbox::take_way_out()); 0: no
  // way out. Only a tier with a network of its own has it.
  std::uint16_t egress_port = 0;

  // What guests can start and write, as walls. The tiers native and landlock enforce them, but not
  // for a guest that is root.
  GuestRules rules{};

  // It will hold contexts: the processor time of each execution must be known, though none of their
  // processes ends.
  bool live = false;

  // Makes this sandbox a realm (sandbox/realm.h). Nothing of a guest's may run in it.
  bool realm = false;

  // The realm to make it in; null: the host's own namespaces. Not ours, needed by create() only.
  const Realm* within = nullptr;
};

// The small environment that every guest starts with, and nothing of ours.
Environment base_environment();

// Replaces parts of it if the guest is root.
Environment root_environment();

}  // namespace glovebox
