// SPDX-License-Identifier: Apache-2.0
// Flow: the bytes of one direction of a connection, from socket to socket as they come. A flow that
// turns out to be long goes through a pipe of the kernel, so that its bytes are not copied here.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "egress/awaitable.h"

namespace glovebox::egress {

class Session;

enum class Direction { kOut, kIn };  // As the guest sees it.

enum class FlowEnd {
  kEnded,    // The sender has sent everything.
  kEnough,   // As many bytes as wanted have passed.
  kFailed,   // The sender is gone.
  kStopped,  // The receiver is gone, or the sandbox may have no more bytes.
};

struct Flow {
  Direction direction;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  // Bytes.
  // Changes each piece on its way. If it is set, no byte goes through a pipe of the kernel.
  std::function<void(std::span<char>)> change = {};
};

// Carries the flow to its end, and counts every byte (Session::spend).
boost::asio::awaitable<FlowEnd> carry(Session& session, Flow flow);

}  // namespace glovebox::egress
