// SPDX-License-Identifier: Apache-2.0
#include "egress/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace glovebox::egress {
namespace {

// The kernel would give more, but what is on its way should fit into a processor's cache, because
// the guest reads it next (bench/network).
constexpr int kSize = 256 * 1024;
// The kernel gives less than this to a user who has many pipes; then copying is as good.
constexpr int kUseful = 64 * 1024;

}  // namespace

std::unique_ptr<Pipe> Pipe::make(Pipes& all, std::size_t most) {
  std::array<int, 2> ends{};
  if (all.in_use >= most || ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return nullptr;
  }
  UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  int size = ::fcntl(in.get(), F_SETPIPE_SZ, kSize);
  if (size < 0) {
    size = ::fcntl(in.get(), F_GETPIPE_SZ);
  }
  if (size < kUseful) {
    return nullptr;
  }
  return std::unique_ptr<Pipe>(
      new Pipe(std::move(out), std::move(in), static_cast<std::size_t>(size), all));
}

Pipe::Pipe(UniqueFd out, UniqueFd in, std::size_t size, Pipes& all)
    : out_(std::move(out)), in_(std::move(in)), size_(size), all_(all) {
  ++all_.in_use;
}

Pipe::~Pipe() {
  if (--all_.in_use == 0) {
    all_.placement.release();
  }
}

ssize_t Pipe::fill(int socket, std::size_t most) {
  const ssize_t got =
      ::splice(socket, nullptr, in_.get(), nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  held_ += got > 0 ? static_cast<std::size_t>(got) : 0;
  return got;
}

ssize_t Pipe::drain(int socket) {
  const ssize_t sent =
      ::splice(out_.get(), nullptr, socket, nullptr, held_, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  held_ -= sent > 0 ? static_cast<std::size_t>(sent) : 0;
  return sent;
}

}  // namespace glovebox::egress
