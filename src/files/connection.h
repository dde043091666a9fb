// SPDX-License-Identifier: Apache-2.0
// The client's end of a connection to a file server, which is hostile.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "files/protocol.h"

namespace glovebox::files {

// How long the other end may do nothing at all, and how long one request that streams nothing may
// take in total.
inline constexpr std::chrono::seconds kPatience{30};
inline constexpr std::chrono::minutes kLongest{10};

// After a failure of the connection itself it is broken, and every further call returns
// kUnavailable. One thread.
class Connection {
 public:
  explicit Connection(UniqueFd socket, std::chrono::milliseconds patience = kPatience);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  [[nodiscard]] int fd() const { return socket_.get(); }

  // Begins a request, unless the connection is broken.
  Result<void> ask(Request request, const Order& order);

  Result<void> send(Request type, std::string_view payload);

  // The next frame, whose payload is valid until the next call. Skips kWorking frames. A kFailed
  // frame becomes the Error that it carries.
  Result<Frame> receive();

  // As receive(), but reads once and does not wait; nothing if there is no whole frame yet.
  Result<std::optional<Frame>> poll();

  // As receive(); anything but `last` breaks the connection.
  Result<std::string_view> expect(Reply last);

  // The descriptor that came since ask(); any other number of them breaks the connection.
  Result<UniqueFd> take_descriptor();

  // Takes the socket out of the protocol, and leaves this broken. Fails if more has come than was
  // asked for.
  Result<UniqueFd> release();

  // Breaks the connection, whose other end is at fault or too slow. Returns the same error.
  Error give_up(Error error);

 private:
  Result<bool> take_frame(Frame& frame);
  Result<bool> read_some();
  Result<void> wait(short events);

  UniqueFd socket_;
  std::chrono::milliseconds patience_;
  FrameParser parser_;
  std::unique_ptr<char[]> buffer_;
  std::string out_;
  std::vector<UniqueFd> passed_;
  std::chrono::steady_clock::time_point asked_;
  bool broken_ = false;
};

}  // namespace glovebox::files
