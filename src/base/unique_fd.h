// SPDX-License-Identifier: Apache-2.0
// Owning file descriptor.
//
// Every descriptor of this program is opened close-on-exec and lives in a UniqueFd from the
// expression that made it. A function that takes a UniqueFd takes ownership; one that takes an
// int named `fd` does not keep the descriptor after it returns.
#pragma once

#include <utility>

namespace glovebox {

class [[nodiscard]] UniqueFd {
 public:
  constexpr UniqueFd() noexcept = default;
  explicit constexpr UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, kNone)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    UniqueFd(std::move(other)).swap(*this);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, kNone); }

  // Closes now. Keeps errno, so it may run between a failed call and the code that reads why.
  void reset() noexcept;
  void swap(UniqueFd& other) noexcept { std::swap(fd_, other.fd_); }

 private:
  static constexpr int kNone = -1;
  int fd_ = kNone;
};

}  // namespace glovebox
