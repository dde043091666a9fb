// SPDX-License-Identifier: Apache-2.0
// A process that we hold by a pidfd and that is not a child of ours.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/agent_process.h"

namespace glovebox {

// Whether a descriptor that a guest sent is the pidfd of a process in a pid namespace below ours. A
// guest cannot open those above its own, but the kernel gives it one of the process that made its
// channel (SO_PEERPIDFD, Linux 6.5), which is us.
bool is_inner_pidfd(int fd);

class PidfdProcess : public AgentProcess {
 public:
  explicit PidfdProcess(UniqueFd pidfd) : pidfd_(std::move(pidfd)) {}

  // Signals its process group if the kernel can (Linux 6.9), else it alone.
  Result<void> signal(int signal) override;
  [[nodiscard]] std::array<pollfd, 2> watch() override {
    return {{{pidfd_.get(), POLLIN, 0}, {-1, 0, 0}}};
  }

  // How it ended, as the kernel remembers it (Linux 6.15) or else as status_elsewhere() knows it.
  std::optional<int> wait_status() override;

 protected:
  virtual std::optional<int> status_elsewhere();

 private:
  UniqueFd pidfd_;
  std::optional<int> status_;
};

}  // namespace glovebox
