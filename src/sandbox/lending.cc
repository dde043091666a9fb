// SPDX-License-Identifier: Apache-2.0
// A sandbox that one process makes and another one uses.
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"
#include "base/wire.h"
#include "sandbox/sandbox.h"
#include "sandbox/stream_relay.h"

namespace glovebox {
namespace {

// The lender answers at once or not at all: making a sandbox takes less than this.
constexpr int kPatienceMs = 100;
constexpr std::size_t kMaxMessage = 64UL * 1024;
// What is passed before the directories of the cgroup: control socket, warden, lock of the slot.
constexpr std::size_t kOwnDescriptors = 3;
constexpr std::size_t kMaxNotes = 64;

// Facts about a sandbox, one bit each, in this order at both ends.
template <typename Features, typename WallsSeen>
auto flags(Features& features, WallsSeen& walls) {
  return std::array{&features.limits_disk,
                    &features.limits_inodes,
                    &features.limits_memory,
                    &features.limits_pids,
                    &features.own_kernel,
                    &features.own_pids,
                    &features.own_root,
                    &features.loopback_network,
                    &features.passes_descriptors,
                    &features.returns_descriptors,
                    &walls.user_ns,
                    &walls.mount_ns,
                    &walls.pid_ns,
                    &walls.net_ns,
                    &walls.ipc_ns,
                    &walls.uts_ns,
                    &walls.cgroup_ns,
                    &walls.no_capabilities,
                    &walls.no_new_privs};
}

}  // namespace

Result<void> Sandbox::lend(int socket) {
  if (used_ || relay_ || !enclosure_.features.own_pids || !enclosure_.slot) {
    return Error(ErrorCode::kUnsupported, "this sandbox cannot be lent");
  }
  WireWriter writer;
  writer.text(id_);
  writer.text(tier_);
  std::uint32_t bits = 0;
  std::uint32_t bit = 1;
  for (const bool* const flag : flags(std::as_const(enclosure_.features), std::as_const(walls_))) {
    bits |= *flag ? bit : 0;
    bit <<= 1;
  }
  writer.u32(bits);
  writer.text(enclosure_.seccomp);
  writer.text(walls_.kernel);
  writer.text(walls_.seccomp);
  writer.u32(static_cast<std::uint32_t>(walls_.landlock));
  writer.text(walls_.cgroup);
  writer.text(walls_.uid);
  writer.texts(notes_);
  enclosure_.cgroup.describe(writer);
  std::vector<int> passed = {link_.fd(), enclosure_.pidfd.get(), enclosure_.slot->lock()};
  const std::vector<int> directories = enclosure_.cgroup.directories();
  passed.insert(passed.end(), directories.begin(), directories.end());
  const std::string message = writer.take();
  if (sys::send_with(socket, message, passed, MSG_DONTWAIT) !=
      static_cast<ssize_t>(message.size())) {
    return Error::from_errno("lend a sandbox");
  }
  // Our copy would keep the guest alive when its borrower dies.
  link_.close();
  used_ = true;
  return {};
}

Result<std::unique_ptr<Sandbox>> Sandbox::borrow(UniqueFd lease,
                                                 const SandboxSpec& made,
                                                 std::chrono::steady_clock::time_point asked) {
  pollfd answer{lease.get(), POLLIN, 0};
  std::array<char, kMaxMessage> message;
  std::vector<UniqueFd> passed;
  const ssize_t size = ::poll(&answer, 1, kPatienceMs) == 1
                           ? sys::receive_with(lease.get(), message, passed, MSG_DONTWAIT)
                           : 0;
  if (size <= 0 || passed.size() < kOwnDescriptors) {
    return Error(ErrorCode::kUnavailable, "no sandbox was lent");
  }
  WireReader reader({message.data(), static_cast<std::size_t>(size)});
  SandboxSpec spec = made;
  spec.id = reader.text();
  const std::string tier(reader.text());
  TierFeatures features;
  Walls walls;
  const std::uint32_t bits = reader.u32();
  std::uint32_t bit = 1;
  for (bool* const flag : flags(features, walls)) {
    *flag = (bits & bit) != 0;
    bit <<= 1;
  }
  const std::string policy(reader.text());
  walls.kernel = reader.text();
  walls.seccomp = reader.text();
  walls.landlock = static_cast<int>(reader.u32());
  walls.cgroup = reader.text();
  walls.uid = reader.text();
  std::vector<std::string> notes = reader.texts(kMaxNotes);
  std::vector<UniqueFd> directories;
  for (std::size_t index = kOwnDescriptors; index < passed.size(); ++index) {
    directories.push_back(std::move(passed[index]));
  }
  Cgroup cgroup = GB_TRY(Cgroup::described(reader, std::move(directories)));
  if (!reader.complete()) {
    return Error(ErrorCode::kInvalid, "malformed message about a lent sandbox");
  }
  std::unique_ptr<Sandbox> sandbox(new Sandbox(Enclosure{.slot = std::nullopt,
                                                         .cgroup = std::move(cgroup),
                                                         .control = std::move(passed[0]),
                                                         .pidfd = std::move(passed[1]),
                                                         .tree = {},
                                                         .features = features,
                                                         .seccomp = policy,
                                                         .landlock = walls.landlock,
                                                         .timings = {},
                                                         .setup = {}},
                                               tier, spec));
  sandbox->lease_ = std::move(lease);
  sandbox->slot_lock_ = std::move(passed[2]);
  sandbox->walls_ = std::move(walls);
  sandbox->notes_ = std::move(notes);
  sandbox->timings_.push_back({"claim", std::chrono::duration_cast<std::chrono::microseconds>(
                                            std::chrono::steady_clock::now() - asked)});
  return sandbox;
}

}  // namespace glovebox
