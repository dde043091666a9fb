// SPDX-License-Identifier: Apache-2.0
// Uses a channel in a thread that may wait, for as long as the peer is fast enough.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "doors/transport/channel.h"
#include "doors/transport/reader_clock.h"

namespace glovebox::http {

// Waits until the channel can continue. False if the patience runs out first.
bool await(const Channel& channel, Channel::Status wanted, std::chrono::milliseconds patience);

// At least one byte; 0 at the end of the stream. kUnavailable when the peer is gone or too slow.
Result<std::size_t> read_some(Channel& channel,
                              std::span<char> into,
                              std::chrono::milliseconds patience);

// Writes what the peer takes at once. kDone: all of the pieces; else what is left stays in them.
Channel::Status write_ready(Channel& channel, std::span<iovec>& pieces, ReaderClock& clock);

// Writes all of the pieces, which are used up. kUnavailable when the peer is gone or too slow.
Result<void> write_all(Channel& channel, std::span<iovec> pieces, ReaderClock& clock);

// Waits for a peer that does not take more now. kUnavailable when it is gone or too slow.
Result<void> await_reader(const Channel& channel, Channel::Status wanted, ReaderClock& clock);

}  // namespace glovebox::http
