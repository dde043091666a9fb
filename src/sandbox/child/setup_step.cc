// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child/plan.h"

namespace glovebox::child {

std::string_view setup_step_name(SetupStep step) {
  switch (step) {
    case SetupStep::kNone:
      return "none";
    case SetupStep::kBorn:
      return "born";
    case SetupStep::kCgroup:
      return "cgroup";
    case SetupStep::kIdentity:
      return "identity";
    case SetupStep::kNetwork:
      return "network";
    case SetupStep::kRoot:
      return "root";
    case SetupStep::kMounts:
      return "mounts";
    case SetupStep::kProc:
      return "proc";
    case SetupStep::kFiles:
      return "files";
    case SetupStep::kLockUserNamespaces:
      return "lock_user_namespaces";
    case SetupStep::kEnterRoot:
      return "enter_root";
    case SetupStep::kPrivileges:
      return "privileges";
    case SetupStep::kLandlock:
      return "landlock";
    case SetupStep::kSeccomp:
      return "seccomp";
    case SetupStep::kExec:
      return "exec";
  }
  return "unknown";
}

}  // namespace glovebox::child
