// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launcher/handshake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"

namespace glovebox::launcher {
namespace {

constexpr time_t kPatienceSeconds = 30;

Result<void> set_patience(const UniqueFd& control, time_t seconds) {
  const timeval patience{.tv_sec = seconds, .tv_usec = 0};
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(control.get(), SOL_SOCKET, direction, &patience, sizeof patience) != 0) {
      return Error::from_errno("set the patience of a socket");
    }
  }
  return {};
}

Result<void> receive_exactly(const UniqueFd& control,
                             std::span<char> bytes,
                             std::vector<UniqueFd>& passed) {
  while (!bytes.empty()) {
    const ssize_t got = sys::receive_with(control.get(), bytes, passed, 0);
    if (got == 0) {
      return Error(ErrorCode::kUnavailable, "the launcher of the sandbox has ended");
    }
    if (got < 0 && errno != EINTR) {
      return errno == EAGAIN
                 ? Error(ErrorCode::kUnavailable, "the launcher of the sandbox does not answer")
                 : Error::from_errno("hear the launcher");
    }
    bytes = bytes.subspan(got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  return {};
}

}  // namespace

Result<Greeting> greet(const UniqueFd& control) {
  GB_TRY(set_patience(control, kPatienceSeconds));
  const UniqueFd offered(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::array<int, 1> passed = {offered.get()};
  // If another kernel has the other end of the socket's file, the descriptor is refused or lost.
  if (!offered || (sys::send_with(control.get(), "d", passed, 0) != 1 &&
                   sys::send_with(control.get(), "d", {}, 0) != 1)) {
    return Error::from_errno("greet the launcher");
  }
  std::uint32_t size = 0;
  std::vector<UniqueFd> returned;
  GB_TRY(receive_exactly(control, {reinterpret_cast<char*>(&size), sizeof size}, returned));
  if (size > kMaxHello) {
    return Error(ErrorCode::kInvalid, "the launcher says too much");
  }
  std::string bytes(size, '\0');
  GB_TRY(receive_exactly(control, bytes, returned));
  Hello hello = GB_TRY(Hello::decode(bytes));
  GB_TRY(set_patience(control, 0));
  return Greeting{.hello = std::move(hello), .returned_descriptor = !returned.empty()};
}

Result<void> give_order(const UniqueFd& control, const Order& order) {
  const std::string bytes = order.encode();
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string message(reinterpret_cast<const char*>(&size), sizeof size);
  message += bytes;
  // Fits into the socket's buffer, which is empty.
  return sys::send_with(control.get(), message, {}, 0) == static_cast<ssize_t>(message.size())
             ? Result<void>()
             : Error::from_errno("give the launcher its order");
}

}  // namespace glovebox::launcher
