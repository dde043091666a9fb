// SPDX-License-Identifier: Apache-2.0
// Channel: the bytes of one connection, plain or under TLS. Never blocks; a caller that may wait,
// waits for what the outcome names.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>

#include "base/unique_fd.h"

namespace glovebox::http {

class Channel {
 public:
  // kWantRead, kWantWrite: nothing was done; try again once the descriptor is ready for it.
  enum class Status { kDone, kWantRead, kWantWrite, kEnd, kFailed };
  struct Outcome {
    Status status = Status::kFailed;
    std::size_t bytes = 0;
  };

  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }

  virtual Outcome handshake() = 0;
  virtual Outcome read(std::span<char> into) = 0;
  // Writes a part of the pieces, in order.
  virtual Outcome write(std::span<const iovec> pieces) = 0;
  // Tells the peer that nothing more comes.
  virtual void end_writing() = 0;
  // Whether bytes have come that the descriptor no longer shows.
  [[nodiscard]] virtual bool has_pending() const = 0;
  // Whether the peer reads exactly what is written to the descriptor.
  [[nodiscard]] virtual bool is_plain() const = 0;

 private:
  UniqueFd fd_;
};

// Ends the connection so that the peer notices that it did not get everything; `until_close` if an
// orderly end would say that it did.
void break_off(const Channel& channel, bool until_close);

// `fd` is a connected stream socket that does not block.
std::unique_ptr<Channel> plain_channel(UniqueFd fd);

}  // namespace glovebox::http
