// SPDX-License-Identifier: Apache-2.0
// SandboxSpec: what a sandbox is to be. A plain value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sandbox/realm.h"
#include "spec/command.h"
#include "spec/guest.h"
#include "spec/limits.h"
#include "spec/mount.h"

namespace glovebox {

struct SandboxSpec {
  // At the start; a run can lower or raise those of the cgroup for itself.
  Limits limits;

  // Every process gets it, before what its own Command adds.
  Environment env;

  // Read-only pieces of the host beside the template's own /usr: what a language keeps in /etc.
  std::vector<Mount> mounts;

  std::string hostname = "glovebox";

  // Where the workspace is, and what the guest is called there; /workspace leads to it all the
  // same. Only a tier with a root of its own can move it: the others keep both as they are.
  std::string home{kWorkspace};
  std::string user = "guest";

  // It will hold contexts: the processor time of each execution is wanted, though none of their
  // processes ends.
  bool live = false;

  // Makes this sandbox a realm (sandbox/realm.h). Nothing of a guest's may run in it.
  bool realm = false;

  // The realm to be made in; none is the host's own namespaces. Not ours, needed by create() only.
  const Realm* within = nullptr;
};

// The small environment that every guest starts with, and nothing of ours.
Environment base_environment();

}  // namespace glovebox
