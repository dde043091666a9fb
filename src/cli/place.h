// SPDX-License-Identifier: Apache-2.0
// Where glovebox runs, and which settings of that place would give it what it lacks.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::cli {

struct Place {
  enum class Container { kNone, kDocker, kPodman, kKubernetes, kOther };
  enum class Ci { kNone, kGithub, kGitlab };
  enum class Wsl { kNone, kOne, kTwo };

  Container container = Container::kNone;
  std::string container_name;  // For kOther: what its manager calls itself, such as "lxc".
  Ci ci = Ci::kNone;
  Wsl wsl = Wsl::kNone;
  std::string unit;  // The systemd service that this process belongs to, or "".

  // What stands in the way of namespaces and mounts.
  bool as_root = false;
  bool may_administer = false;                    // This process has CAP_SYS_ADMIN.
  bool lets_administer = false;                   // A process here can have it (bounding set).
  bool own_ids = false;                           // User ids here are not those of the host.
  bool filtered = false;                          // There is a system call filter.
  bool covered_proc = false;                      // Something is mounted below /proc.
  bool fixed_cgroups = false;                     // Cgroups are mounted, but read-only.
  bool no_user_namespaces = false;                // The kernel was built without them.
  bool apparmor = false;                          // A profile of AppArmor is enforced.
  bool selinux = false;                           // The type of a container is enforced.
  bool unified = false;                           // /sys/fs/cgroup is cgroup v2.
  std::vector<std::string> user_namespaces_need;  // "sysctl=value" for those that now forbid them.
};

// What does not work at present.
struct Lacks {
  bool native = false;
  bool cgroup = false;
  bool landlock = false;       // The kernel's Landlock.
  bool landlock_tier = false;  // The tier that runs where `native` does not.
};

// The value of an environment variable, or nullptr.
using Variable = std::function<const char*(const char* name)>;

// Reads the files below `root` ("" for this machine). Never fails: what can't be read counts as
// missing.
Place find_place(const std::string& root, const Variable& variable, bool as_root);

// For people: "GitHub Actions, a Docker container, as root".
std::string describe(const Place& place);

// What to set, and where, to get what is lacking. Empty if nothing is lacking, or if the place has
// no setting for it.
std::string advice(const Place& place, const Lacks& lacks);

}  // namespace glovebox::cli
