// SPDX-License-Identifier: Apache-2.0
#include "sandbox/guest_process.h"

#include <signal.h>

#include "sandbox/terminal.h"

namespace glovebox {

void GuestProcess::signal(int signal) {
  const warden::SignalRequest request{.signal = static_cast<std::uint32_t>(signal)};
  channel_->send(warden::Request::kSignal, request.encode());
}

Result<void> GuestProcess::resize(warden::TerminalSize size) {
  if (!relayed_) {
    return resize_terminal(terminal_, size);
  }
  channel_->send(warden::Request::kResize, size.encode());
  return {};
}

void GuestProcess::settle() {
  if (relayed_) {
    settling_ = true;
    channel_->send(warden::Request::kSettle, {});
  }
}

bool GuestProcess::settled() { return ended() || !settling_; }

const std::optional<warden::EndedReport>& GuestProcess::ended() {
  while (!ended_) {
    const auto frame = channel_->poll();
    if (!frame) {
      ended_ = warden::EndedReport{.wait_status = SIGKILL};
    } else if (!frame.value()) {
      break;
    } else if (static_cast<warden::Reply>(frame.value()->type) == warden::Reply::kEnded) {
      auto report = warden::EndedReport::decode(frame.value()->payload);
      ended_ = report ? std::move(report).value() : warden::EndedReport{};
    } else if (static_cast<warden::Reply>(frame.value()->type) == warden::Reply::kSettled) {
      settling_ = false;
    }
  }
  return ended_;
}

}  // namespace glovebox
