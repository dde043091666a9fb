// SPDX-License-Identifier: Apache-2.0
// The process of a machine, and the ways in which one begins.
//
// Descriptors of ours: 1 is the warden's stream, 2 where complaints go, 3 the machine's own port
// (protocol.h). The machine gets these as 5, 2 and 3, as 4 the stream of its files, as 6 its
// monitor's, and as 7 where it reads its state.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "sandbox/microvm/monitor.h"

namespace glovebox::microvm {

inline constexpr int kMachineFd = 3;
inline constexpr int kAside = 16;  // Above all descriptors that are arranged.

// Writes to standard error, with errno's text. Returns the exit status for it.
int complain(std::string_view what);

// Two connected sockets, out of the way of the descriptors above.
struct Sockets {
  UniqueFd ours;
  UniqueFd theirs;
};
Sockets make_sockets();

// Ends with this object, which kills it by SIGKILL and waits for it.
class MachineProcess {
 public:
  // Boots it. No process if that fails. `files` is passed to it.
  static MachineProcess boot(std::vector<std::string> command, int files);
  // Starts it on the template's memory and with its state. No process if that fails.
  static MachineProcess clone(std::vector<std::string> command, int files);
  // The same for a machine that stood still when its state was taken.
  static MachineProcess continue_saved(std::vector<std::string> command, int files);
  // Boots it with its memory in a file of that name and size, and `control` as the warden's
  // stream: standard output stays ours, since QEMU never waits for what it has. Its monitor
  // has been greeted.
  static MachineProcess boot_in(std::vector<std::string> command,
                                int files,
                                int control,
                                const std::string& memory,
                                std::string_view size);

  MachineProcess(MachineProcess&& other) noexcept;
  MachineProcess& operator=(MachineProcess&&) = delete;
  ~MachineProcess() { end(); }

  explicit operator bool() const { return pid_ > 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] Monitor& monitor() { return monitor_; }
  void end();

 private:
  MachineProcess(pid_t pid, UniqueFd monitor) : pid_(pid), monitor_(std::move(monitor)) {}

  pid_t pid_;
  Monitor monitor_;
};

}  // namespace glovebox::microvm
