// SPDX-License-Identifier: Apache-2.0
// ForeignDescriptors: what came over a socket whose other end a guest holds.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox {

// They may be of any kind. Closing the last descriptor of a connection waits for its peer if the
// guest asked for that (SO_LINGER, socket(7)), so those that are left here are never closed by the
// thread that holds them, but by one made for it.
class ForeignDescriptors {
 public:
  ForeignDescriptors() = default;
  ForeignDescriptors(ForeignDescriptors&& other) noexcept
      : descriptors_(std::exchange(other.descriptors_, {})) {}
  ForeignDescriptors& operator=(ForeignDescriptors&& other) noexcept {
    descriptors_.swap(other.descriptors_);
    return *this;
  }
  ForeignDescriptors(const ForeignDescriptors&) = delete;
  ForeignDescriptors& operator=(const ForeignDescriptors&) = delete;
  ~ForeignDescriptors() { close(); }

  // As recv(2) with `flags`. Keeps all that came with the bytes, so that the kernel closes none.
  ssize_t receive(int socket, std::span<char> bytes, int flags);

  [[nodiscard]] std::size_t size() const { return descriptors_.size(); }
  [[nodiscard]] int operator[](std::size_t i) const { return descriptors_[i].get(); }

  // Only for one whose kind was checked: its new owner closes it directly.
  UniqueFd take(std::size_t i) { return std::move(descriptors_[i]); }

  // Returns at once.
  void close();

 private:
  std::vector<UniqueFd> descriptors_;
};

}  // namespace glovebox
