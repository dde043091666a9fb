// SPDX-License-Identifier: Apache-2.0
#include "doors/transport/blocking.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace glovebox::http {
namespace {

Error gone() { return {ErrorCode::kUnavailable, "the client is gone"}; }
Error too_slow() { return {ErrorCode::kUnavailable, "the client is too slow"}; }

bool waits(Channel::Status status) {
  return status == Channel::Status::kWantRead || status == Channel::Status::kWantWrite;
}

}  // namespace

bool await(const Channel& channel, Channel::Status wanted, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  pollfd watched{.fd = channel.fd(),
                 .events = wanted == Channel::Status::kWantRead ? short{POLLIN} : short{POLLOUT},
                 .revents = 0};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(&watched, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready != -1 || errno != EINTR) {
      return ready > 0;
    }
  }
}

Result<std::size_t> read_some(Channel& channel,
                              std::span<char> into,
                              std::chrono::milliseconds patience) {
  while (true) {
    const Channel::Outcome outcome = channel.read(into);
    if (outcome.status == Channel::Status::kDone) {
      return outcome.bytes;
    }
    if (outcome.status == Channel::Status::kEnd) {
      return std::size_t{0};
    }
    if (!waits(outcome.status)) {
      return gone();
    }
    if (!await(channel, outcome.status, patience)) {
      return too_slow();
    }
  }
}

Channel::Status write_ready(Channel& channel, std::span<iovec>& pieces, ReaderClock& clock) {
  while (true) {
    while (!pieces.empty() && pieces.front().iov_len == 0) {
      pieces = pieces.subspan(1);
    }
    if (pieces.empty()) {
      return Channel::Status::kDone;
    }
    const Channel::Outcome outcome = channel.write(pieces);
    if (outcome.status != Channel::Status::kDone) {
      return outcome.status;
    }
    clock.took(outcome.bytes);
    std::size_t written = outcome.bytes;
    for (iovec& piece : pieces) {
      const std::size_t part = std::min(written, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + part;
      piece.iov_len -= part;
      written -= part;
    }
  }
}

Result<void> await_reader(const Channel& channel, Channel::Status wanted, ReaderClock& clock) {
  if (!waits(wanted)) {
    return gone();
  }
  const auto patience = clock.left();
  const auto since = std::chrono::steady_clock::now();
  const bool ready = patience.count() > 0 && await(channel, wanted, patience);
  clock.waited(std::chrono::steady_clock::now() - since);
  if (!ready) {
    return too_slow();
  }
  return {};
}

Result<void> write_all(Channel& channel, std::span<iovec> pieces, ReaderClock& clock) {
  while (true) {
    const Channel::Status status = write_ready(channel, pieces, clock);
    if (status == Channel::Status::kDone) {
      return {};
    }
    GB_TRY(await_reader(channel, status, clock));
  }
}

}  // namespace glovebox::http
