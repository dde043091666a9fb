// SPDX-License-Identifier: Apache-2.0
// Starting guests, and ending them all.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"

namespace glovebox::warden {

// What a process gets as its descriptors 0, 1 and 2, and 3 when there is a channel; or a terminal
// in place of the first three.
struct GuestStdio {
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;
  UniqueFd channel;
  UniqueFd terminal;
};

struct Started {
  pid_t pid = 0;
  int start_error = 0;  // errno of a failed start (no such program, …); pid is 0 then.
};

// Whether the sandbox has a pid namespace. Without one the warden is no PID 1, and the kernel does
// not protect it from its children's signals.
enum class Pids { kOwn, kShared };

// The user that guests are. For root we hold CAP_SYS_ADMIN of the sandbox's own user namespace:
// without it, nobody who may gain privileges can be put under a filter; no guest gets it. Guests
// that are another user than we are (moving_in.h) cannot signal us, though their kernel does not
// protect PID 1.
enum class Guests { kUser, kRoot, kOtherUser };

class Starter {
 public:
  explicit Starter(Pids pids, Guests guests) : pids_(pids), guests_(guests) {}

  // Starts what `request` names, as a child of ours in a session of its own. Returns once it has
  // called exec, or failed to; fails with ETIMEDOUT, and kills it, when that takes 10 s. The guest
  // enters the Landlock domain of `file_walls`, if that is one (file_walls.h).
  [[nodiscard]] Started start(const StartRequest& request,
                              const GuestStdio& stdio,
                              const UniqueFd& file_walls) const;

  // Starts a program of ours by its descriptor, for work on hostile data.
  [[nodiscard]] Started start_own(int program_fd,
                                  const std::vector<std::string>& argv,
                                  const GuestStdio& stdio) const;

  // Sends a signal to every process of the sandbox but this one.
  void signal_everything(int signal) const;
  void kill_everything() const;

  // Whether a process that is being born while everything is killed may live on: gVisor first looks
  // for processes and then signals them, while Linux lets no fork come in between.
  [[nodiscard]] bool misses_births() const { return guests_ == Guests::kOtherUser; }

 private:
  Pids pids_;
  Guests guests_;
};

}  // namespace glovebox::warden
