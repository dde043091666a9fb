// SPDX-License-Identifier: Apache-2.0
// Pipe: what is on its way from one socket to another without leaving the kernel (splice(2)).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "base/unique_fd.h"
#include "egress/placement.h"

namespace glovebox::egress {

// What the pipes of one thread share. Must outlive them.
struct Pipes {
  std::size_t in_use = 0;
  Placement placement;
};

class Pipe {
 public:
  // Null if there are `most` already, or if the kernel gives none of a useful size.
  static std::unique_ptr<Pipe> make(Pipes& all, std::size_t most);
  // When the last pipe is gone, the thread may run on every processor again.
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Like read(2) from a nonblocking socket, of at most `most` bytes. The pipe must be empty.
  ssize_t fill(int socket, std::size_t most);
  // Like write(2) to a nonblocking socket, of what the pipe holds.
  ssize_t drain(int socket);
  // Keeps the thread on the processor where the reader of this socket works, for as long as there
  // are pipes. Cheap enough for every piece.
  void stay_near(int socket) { all_.placement.follow(socket); }

  // The most bytes that one fill() takes.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t held() const { return held_; }

 private:
  Pipe(UniqueFd out, UniqueFd in, std::size_t size, Pipes& all);

  UniqueFd out_;
  UniqueFd in_;
  std::size_t size_;
  std::size_t held_ = 0;
  Pipes& all_;
};

}  // namespace glovebox::egress
