// SPDX-License-Identifier: Apache-2.0
// Relay: a request that somebody else answers, on the client's own connection; in the loop, without
// a thread.
//
// The peer is hostile, and so is the client. What the client sends after its request would be a
// further request to us, with its key in it: it reaches the peer only after both have agreed on
// another protocol (101). Without that, one answer goes back and the connection ends, whatever the
// peer says about keeping it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "doors/transport/channel.h"
#include "doors/transport/fair_shares.h"
#include "doors/transport/head.h"

namespace boost::asio {
class io_context;
}

namespace glovebox::http {

struct RelayOrder {
  Head head;          // Of the client's request; nothing of its body has been read.
  UniqueFd peer;      // A connected stream socket.
  std::string first;  // What the peer gets first.
  FairShares::Share link;
};

// Passes bytes until either side has ended, or nothing has moved for `patience`. A peer's answer
// that is not HTTP becomes a 502. In the thread of `io`. `in` is what the client has sent beyond
// the head. `channel` is used, and its descriptor registered with `io`, until `ended` is called,
// once.
void start_relay(boost::asio::io_context& io,
                 Channel& channel,
                 std::string in,
                 RelayOrder order,
                 std::chrono::milliseconds patience,
                 std::function<void()> ended);

}  // namespace glovebox::http
