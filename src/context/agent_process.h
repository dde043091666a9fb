// SPDX-License-Identifier: Apache-2.0
// AgentProcess: the process of an agent in its sandbox, however it came there.
#pragma once

#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/result.h"

namespace glovebox {

class AgentProcess {
 public:
  AgentProcess() = default;
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;
  virtual ~AgentProcess() = default;

  // Signals the agent and what it has not set apart from itself.
  virtual Result<void> signal(int signal) = 0;

  // What to pass to poll(2) in order to wait for news of its end, or until it has settled.
  [[nodiscard]] virtual std::array<pollfd, 2> watch() = 0;

  // Asks that what it has written until now to its standard output and error reach our ends, which
  // must be read meanwhile. If they are the guest's own pipes, it has already.
  virtual void settle() {}
  // Whether the output has reached us, or the process has ended. Does not wait.
  virtual bool settled() { return true; }

  // The channel by which the sandbox's warden knows it; nothing if it does not.
  [[nodiscard]] virtual std::optional<std::uint32_t> warden_channel() const { return {}; }

  // How it ended, as waitpid(2) tells it; nothing while it lives. Does not wait.
  virtual std::optional<int> wait_status() = 0;
};

}  // namespace glovebox
