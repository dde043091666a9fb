// SPDX-License-Identifier: Apache-2.0
// The launcher: the one process of ours inside a sandbox that may call exec.
//
// The warden (PID 1) confines itself with a filter that has no exec, and filters are inherited, so
// it cannot start guests. Before that it forks the launcher, which does nothing but start them, as
// children of the warden (CLONE_PARENT), and kill them all.
#pragma once

#include <sys/types.h>

#include <array>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"

namespace glovebox::warden {

struct GuestStdio {
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
};

class Launcher {
 public:
  // Forks the launcher. `own_pids`: this sandbox has a pid namespace of its own, or a uid, so that
  // "every process that I may signal" means the sandbox's.
  static Result<Launcher> create(bool own_pids);

  // Starts a guest; answers its pid. On failure the error code is that of the guest's own start
  // (no such program, …): the negative errno in `start_error`, with pid 0.
  struct Started {
    pid_t pid = 0;
    int start_error = 0;
  };
  Result<Started> start(const StartRequest& request, const GuestStdio& stdio);

  // Sends SIGKILL to every process of the sandbox but the warden and the launcher.
  Result<void> kill_everything();

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  Launcher(pid_t pid, UniqueFd socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_;
  UniqueFd socket_;
};

}  // namespace glovebox::warden
