// SPDX-License-Identifier: Apache-2.0
// What gVisor's kernel can be told over its Unix socket, as runsc tells it: a call is a JSON
// object, with descriptors, and so is its answer (pkg/urpc of gVisor's sources).
//
// Once a guest has run, answers may be its work: they are read within bounds, and decide nothing
// but whether the call has succeeded.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox {

// Reads one answer, in whatever pieces it comes.
class KernelAnswer {
 public:
  // No answer to our calls is longer than this.
  static constexpr std::size_t kMost = 64UL * 1024;

  // True once the answer is complete and says that the call has succeeded; false if more must come.
  // Fails with kUnavailable and the kernel's own words if the call has failed, and with kInvalid if
  // this is not an answer.
  Result<bool> take(std::string_view bytes);

 private:
  [[nodiscard]] Result<bool> judge() const;

  std::string text_;
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

// The kernel of one sandbox. Several may be connected to it.
class KernelControl {
 public:
  // Makes the socket in `directory`, which is the sandbox's and ours alone. Returns the kernel's
  // end; others can connect to it before the kernel exists.
  static Result<UniqueFd> listen(const std::string& directory);

  // Removes that socket.
  static void forget(const std::string& directory);

  // Nothing if there is no such socket: runsc has started this kernel.
  static Result<std::optional<KernelControl>> connect(const std::string& directory);

  // Sends a call, without waiting for its answer. `argument` is JSON.
  Result<void> send(std::string_view method,
                    std::string_view argument,
                    std::span<const int> passed = {});

  // Waits for the answer of the last call. Fails with kUnavailable when the kernel ends first.
  Result<void> await_success(std::chrono::milliseconds patience);

 private:
  explicit KernelControl(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
};

}  // namespace glovebox
