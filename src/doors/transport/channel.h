// SPDX-License-Identifier: Apache-2.0
// Channel: the bytes of one connection, plain or under TLS. Never blocks; who may wait, waits for
// what the outcome names.
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
  // Bytes have come that the descriptor does not show any more.
  [[nodiscard]] virtual bool has_pending() const = 0;
  // What is written to the descriptor is what the peer reads.
  [[nodiscard]] virtual bool is_plain() const = 0;

 private:
  UniqueFd fd_;
};

// Ends the connection so that the peer notices that what it got is not all; `until_close` where an
// orderly end would say that it is.
void break_off(const Channel& channel, bool until_close);

// `fd` is a connected stream socket that does not block.
std::unique_ptr<Channel> plain_channel(UniqueFd fd);

}  // namespace glovebox::http
