// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/sandbox_claim.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>

#include "sandbox/runtime_directory.h"
#include "service/run_pool/pool_request.h"
#include "service/run_pool/surroundings.h"

namespace glovebox {
Result<std::unique_ptr<Sandbox>> claim_from_pool(const SandboxSpec& spec, const TierWish& wish) {
  const auto asked = std::chrono::steady_clock::now();
  const Error none(ErrorCode::kUnavailable, "no pool has a matching sandbox");
  if (!can_be_pooled(spec) || !first_choice_can(wish, &TierTraits::can_lend)) {
    return none;
  }
  const UniqueFd directory(
      ::open(runtime_directory().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!directory || !socket) {
    return none;
  }
  const sockaddr_un address = pool_address(directory.get());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      !is_our_own(socket.get())) {
    return none;
  }
  const std::string request =
      encode(PoolRequest{.surroundings = GB_TRY(surroundings()), .kind = encode_kind(spec)});
  if (request.size() > kMaxPoolRequest ||
      ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(request.size())) {
    return none;
  }
  return Sandbox::borrow(std::move(socket), spec, asked);
}

}  // namespace glovebox
