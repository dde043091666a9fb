// SPDX-License-Identifier: Apache-2.0
// KernelProcess: the kernel as a child process, in a process group of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace glovebox::jupyter {

class KernelProcess {
 public:
  // Starts `argv`, found through $PATH, with `variables` on top of our own environment. Standard
  // streams are inherited; no signal is blocked or ignored. The kernel is killed when we end.
  // Requires: there is no other thread yet, and `argv` is not empty.
  static Result<KernelProcess> start(
      const std::vector<std::string>& argv,
      const std::vector<std::pair<std::string, std::string>>& variables);

  KernelProcess(KernelProcess&& other) noexcept;
  KernelProcess& operator=(KernelProcess&& other) = delete;
  KernelProcess(const KernelProcess&) = delete;
  // Kills and reaps it, if it still lives.
  ~KernelProcess();

  // Like Ctrl-C in a terminal: signals the kernel and what it started in its group.
  void interrupt() const;

  // Kills its process group.
  void kill() const;

  // Reaps it without waiting; returns true once it is dead.
  bool reap();

  // How it ended, for people: "ended with status 3". Requires: reap() has answered true.
  [[nodiscard]] std::string end() const;
  [[nodiscard]] bool ended_well() const;

 private:
  explicit KernelProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;  // -1 after a move.
  std::optional<int> status_;
};

}  // namespace glovebox::jupyter
