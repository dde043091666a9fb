// SPDX-License-Identifier: Apache-2.0
#include "service/run_pool/pool_request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstring>

#include "base/wire.h"
#include "sandbox/runtime_directory.h"

namespace glovebox {
namespace {

constexpr std::uint32_t kMostMounts = 256;

Error nonsense() { return {ErrorCode::kInvalid, "malformed request to the pool"}; }

}  // namespace

sockaddr_un pool_address(int directory) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  // By the descriptor, since the directory's own path may be too long for a socket's address.
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + kPoolSocket;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool is_our_own(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

bool can_be_pooled(const SandboxSpec& spec) {
  const SandboxSpec plain;
  return spec.id.empty() && spec.root.empty() && spec.attachments.empty() &&
         spec.hostname == plain.hostname && spec.home == plain.home && spec.user == plain.user &&
         spec.egress_port == 0 && !spec.as_root && !spec.nested && spec.rules.empty() &&
         !spec.live && !spec.realm && spec.within == nullptr && spec.mounts.size() <= kMostMounts;
}

std::string encode_kind(const SandboxSpec& spec) {
  WireWriter writer;
  const Limits& limits = spec.limits;
  writer.u64(static_cast<std::uint64_t>(limits.cpu_time.count()));
  writer.u64(limits.memory.count);
  writer.u64(std::bit_cast<std::uint64_t>(limits.cpus));
  writer.u32(limits.pids);
  writer.u64(limits.disk.count);
  writer.u32(limits.inodes);
  writer.u64(limits.io_rate.count);
  writer.u32(static_cast<std::uint32_t>(spec.mounts.size()));
  for (const Mount& mount : spec.mounts) {
    writer.text(mount.source);
    writer.text(mount.target);
    writer.u8(mount.optional ? 1 : 0);
    writer.u8(mount.closed ? 1 : 0);
  }
  return writer.take();
}

Result<SandboxSpec> decode_kind(std::string_view text) {
  WireReader reader(text);
  SandboxSpec spec;
  Limits& limits = spec.limits;
  limits.cpu_time = std::chrono::milliseconds(reader.u64());
  limits.memory = Bytes{reader.u64()};
  limits.cpus = std::bit_cast<double>(reader.u64());
  limits.pids = reader.u32();
  limits.disk = Bytes{reader.u64()};
  limits.inodes = reader.u32();
  limits.io_rate = Bytes{reader.u64()};
  const std::uint32_t mounts = reader.u32();
  for (std::uint32_t index = 0; index < mounts && index < kMostMounts && reader.ok(); ++index) {
    Mount mount;
    mount.source = reader.text();
    mount.target = reader.text();
    mount.optional = reader.u8() != 0;
    mount.closed = reader.u8() != 0;
    spec.mounts.push_back(std::move(mount));
  }
  if (!reader.complete() || !validate(limits)) {
    return nonsense();
  }
  return spec;
}

std::string encode(const PoolRequest& request) {
  WireWriter writer;
  writer.text(request.surroundings);
  writer.text(request.kind);
  return writer.take();
}

Result<PoolRequest> decode_pool_request(std::string_view text) {
  WireReader reader(text);
  PoolRequest request;
  request.surroundings = reader.text();
  request.kind = reader.text();
  if (!reader.complete()) {
    return nonsense();
  }
  return request;
}

}  // namespace glovebox
