// SPDX-License-Identifier: Apache-2.0
// A file system in memory that is mounted nowhere yet, for a caller that attaches it later
// (move_mount(2)).
#pragma once

#include "base/result.h"
#include "base/sys/kernel_abi.h"
#include "base/sys/raw.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// Its root is an empty directory, of mode 0755; no set-id bit and no device has an effect in it.
// Requires CAP_SYS_ADMIN.
inline Result<UniqueFd> memory_mount() {
  const auto failed = [](long error) {
    return Error::from_errno("mount a tmpfs", static_cast<int>(-error));
  };
  const long made = raw(SYS_fsopen, "tmpfs", abi::kFsopenCloexec);
  if (made < 0) {
    return failed(made);
  }
  const UniqueFd context(static_cast<int>(made));
  const long set = raw(SYS_fsconfig, context.get(), abi::kFsconfigSetString, "mode", "0755", 0);
  const long created =
      set < 0 ? set : raw(SYS_fsconfig, context.get(), abi::kFsconfigCreate, nullptr, nullptr, 0);
  const long mounted = created < 0 ? created
                                   : raw(SYS_fsmount, context.get(), abi::kFsmountCloexec,
                                         abi::kMountNosuid | abi::kMountNodev);
  return mounted < 0 ? Result<UniqueFd>(failed(mounted))
                     : Result<UniqueFd>(UniqueFd(static_cast<int>(mounted)));
}

}  // namespace glovebox::sys
