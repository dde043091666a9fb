// SPDX-License-Identifier: Apache-2.0
// GuestProcess: a process that was started in a sandbox beside runs, and outlives them.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sandbox/warden_link.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// Its sandbox must outlive it. The destructor closes the terminal, but does not end the
// process. Any thread may call signal(); the rest is for one thread at a time.
class GuestProcess {
 public:
  // `pid` is its number inside. `relayed`: its streams go through the warden.
  GuestProcess(std::unique_ptr<WardenLink::Channel> channel, std::uint32_t pid, bool relayed)
      : channel_(std::move(channel)), pid_(pid), relayed_(relayed) {}

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  // The number by which the warden knows it, also after its sandbox was saved and loaded.
  [[nodiscard]] std::uint32_t channel() const { return channel_->number(); }

  // The outer end of the terminal that it was started with, if any: bytes written to it are typed,
  // and bytes read from it were shown. Non-blocking.
  [[nodiscard]] const UniqueFd& terminal() const { return terminal_; }
  void hold_terminal(UniqueFd terminal) { terminal_ = std::move(terminal); }
  // Any thread. Requires: it has a terminal.
  Result<void> resize(warden::TerminalSize size);

  // To its process group.
  void signal(int signal);

  // How it ended; nothing while it lives. If it ended with its sandbox, it was killed. Does not
  // wait.
  const std::optional<warden::EndedReport>& ended();

  // Asks that everything it has written until now reaches the readers of its streams, because one
  // relayed stream may overtake another. Somebody must read the streams meanwhile.
  void settle();
  // Whether it has reached them since settle(), or the process has ended. Does not wait.
  bool settled();

  // What to pass to poll(2) in order to wait until ended() or settled() may know more.
  [[nodiscard]] std::array<pollfd, 2> watch() { return channel_->watch(); }
  // Instead of watch(): this eventfd(2), which must stay open, is written to when there is news
  // that somebody else has heard (Sandbox::hear()).
  void wake_by(int eventfd) { channel_->wake_by(eventfd); }

 private:
  std::unique_ptr<WardenLink::Channel> channel_;
  std::uint32_t pid_;
  bool relayed_;
  UniqueFd terminal_{};
  bool settling_ = false;
  std::optional<warden::EndedReport> ended_;
};

}  // namespace glovebox
