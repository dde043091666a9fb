// SPDX-License-Identifier: Apache-2.0
// Our end of the control socket: frames to a warden and from it, with deadlines.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/frame.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "spec/warden_protocol.h"

namespace glovebox {

// Not for use by several threads at once.
class WardenLink {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WardenLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // Queues a frame; it leaves with flush() and with every receive().
  void send(warden::Request type, std::uint32_t channel, std::string_view payload);

  // Sends a frame at once, with what was queued before; `passed` travels with it. Waits while the
  // socket is full.
  Result<void> send_with(warden::Request type,
                         std::uint32_t channel,
                         std::string_view payload,
                         std::span<const int> passed);

  // Writes what the socket takes now. Fails when the warden is gone.
  Result<void> flush();
  [[nodiscard]] bool has_unsent() const { return !outgoing_.empty(); }

  // The next frame that is here already, without waiting; nothing when there is none. Fails with
  // kUnavailable when the warden is gone and with kInvalid when it speaks nonsense. The frame's
  // payload is valid until the next call.
  Result<std::optional<Frame>> poll_frame();

  // Waits for a frame until `deadline`; fails with kUnavailable after it.
  Result<Frame> receive(Clock::time_point deadline);

  [[nodiscard]] int fd() const { return socket_.get(); }

  // Closing is how a warden is told to end everything.
  void close() { socket_.reset(); }

  // The same for whoever may not take the socket away from another thread.
  void shut_down() const { (void)::shutdown(socket_.get(), SHUT_RDWR); }

 private:
  static constexpr std::size_t kReceiveSize = 128UL * 1024;

  UniqueFd socket_;
  FrameParser parser_;
  // On the heap, uninitialized: most sandboxes say little, and pages that nobody touches cost
  // nothing.
  std::unique_ptr<char[]> received_{new char[kReceiveSize]};
  std::string outgoing_;
};

}  // namespace glovebox
