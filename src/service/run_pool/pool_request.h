// SPDX-License-Identifier: Apache-2.0
// What `glovebox run` says to `glovebox pool` when it wants a sandbox, and where.
#pragma once

#include <sys/un.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/spec.h"

namespace glovebox {

// The socket, of sequenced packets, in the user's runtime directory, which is open as `directory`.
sockaddr_un pool_address(int directory);

// Whether the process at the other end is our user's.
bool is_our_own(int socket);

// A sandbox out of the pool always has the default tier, and a root and a home as they are if the
// caller asks for none.
bool can_be_pooled(const SandboxSpec& spec);

// The rest of a spec that a sandbox cannot change any more, or does not have to: mounts, and limits
// but for those of each process.
std::string encode_kind(const SandboxSpec& spec);
Result<SandboxSpec> decode_kind(std::string_view text);

struct PoolRequest {
  std::string surroundings;  // service/run_pool/surroundings.h
  std::string kind;
};
inline constexpr std::size_t kMaxPoolRequest = 32UL * 1024;

std::string encode(const PoolRequest& request);
Result<PoolRequest> decode_pool_request(std::string_view text);

}  // namespace glovebox
