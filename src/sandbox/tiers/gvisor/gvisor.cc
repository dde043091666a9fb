// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/gvisor/gvisor.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/sys/memory_mount.h"
#include "base/sys/write_all.h"
#include "sandbox/launch.h"
#include "sandbox/moving_in.h"
#include "sandbox/policy/policy.h"
#include "sandbox/slot_tree.h"
#include "sandbox/stopwatch.h"
#include "sandbox/tiers/gvisor/bundle.h"
#include "sandbox/tiers/gvisor/kernel.h"
#include "sandbox/tiers/gvisor/runsc.h"

namespace glovebox {
namespace {

// What the sentry, the gofer and runsc itself need (docs/gvisor.md has the measurement).
constexpr Bytes kKernelMemory{48UL << 20};

// Of all threads of the kernel, and of the processes that the guests' address spaces are in: for
// each process of a guest's there are a few.
std::uint64_t most_threads(const Limits& limits) { return 4 * limits.pids + 256; }

// runsc lets only root do that, and cannot save sockets of the host's kernel.
bool saves_memory(const SandboxSpec& spec) { return ::geteuid() == 0 && spec.egress_port == 0; }

TierFeatures features(const SandboxSpec& spec) {
  return {.limits_disk = true,
          .limits_inodes = false,
          .limits_memory = Cgroup::support().memory,
          .limits_pids = true,
          .own_kernel = true,
          .own_pids = true,
          .own_root = true,
          .loopback_network = true,
          .passes_descriptors = false,
          .returns_descriptors = false,
          .snapshots_memory = saves_memory(spec),
          .portable_snapshots = saves_memory(spec)};
}

// Of a sandbox's directory, what is for runsc.
std::string state_in(const std::string& tree) { return tree + "/state"; }

// The warden waits for them. They fit into the socket, whose other end nobody reads yet.
Result<void> send_requests(int control, const SandboxSpec& spec) {
  const std::string bytes =
      moving_in_frame(spec.home, policy::own_kernel_filter()) + machine_frame(spec.limits);
  const ssize_t sent = ::send(control, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == std::ssize(bytes) ? Result<void>() : Error::from_errno("instruct the warden");
}

// If we are root and the build is known: starts both programs ourselves, with a root in memory.
Result<Runsc> start_parts(const RunscOrder& order,
                          const UniqueFd& program,
                          const SandboxSpec& spec,
                          const InnerPrograms& programs,
                          const Cgroup& cgroup) {
  const BundleRoot root{.directory = GB_TRY(sys::memory_mount()), .path = "root"};
  return start_kernel(order, program, GB_TRY(make_bundle(root, spec, programs)), root, cgroup);
}

// Leaves it to runsc, which finds the bundle and keeps its state on the disk.
Result<Runsc> start_whole(const RunscOrder& order,
                          const SandboxSpec& spec,
                          const InnerPrograms& programs,
                          const Cgroup& cgroup) {
  const std::string path = order.bundle + "/root";
  if (::mkdir(order.state.c_str(), 0700) != 0 || ::mkdir(path.c_str(), 0755) != 0) {
    return Error::from_errno("create directories in " + order.bundle);
  }
  const BundleRoot root{
      .directory = UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      .path = path};
  const Bundle bundle = GB_TRY(make_bundle(root, spec, programs));
  const std::string name = order.bundle + "/config.json";
  const UniqueFd config(::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!config || !sys::write_all(config.get(), bundle.config)) {
    return Error::from_errno("write " + name);
  }
  return start_runsc(order, cgroup);
}

// The quick way if it is open, else runsc's own.
Result<Runsc> start(const RunscOrder& order,
                    const SandboxSpec& spec,
                    const InnerPrograms& programs,
                    const Cgroup& cgroup,
                    std::vector<std::string>& notes) {
  const UniqueFd program(::open(order.program.c_str(), O_RDONLY | O_CLOEXEC));
  if (::geteuid() == 0 && has_known_parts(program.get())) {
    Result<Runsc> started = start_parts(order, program, spec, programs, cgroup);
    if (started) {
      return started;
    }
    notes.push_back("gVisor was started by 'runsc run', which takes longer: " +
                    started.error().message());
  }
  return start_whole(order, spec, programs, cgroup);
}

// A new sandbox, or, if there is an image, one that continues it.
Result<Enclosure> build(const SandboxSpec& spec, const std::string& image) {
  Stopwatch watch;
  const std::string runsc = GB_TRY(find_runsc());
  const InnerPrograms programs = GB_TRY(inner_programs());
  Slot slot = GB_TRY(Slot::take());
  SlotTree tree = GB_TRY(SlotTree::make(slot));
  watch.lap("slot");
  Cgroup cgroup = GB_TRY(Cgroup::create(
      slot, spec.limits,
      Cgroup::Kernel{.memory = kKernelMemory, .most_threads = most_threads(spec.limits)}));
  watch.lap("cgroup_made");
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  UniqueFd control(pair[0]);
  const UniqueFd inner(pair[1]);
  if (image.empty()) {
    GB_TRY(send_requests(control.get(), spec));
  }
  std::vector<std::string> notes;
  Runsc started = GB_TRY(start({.program = runsc,
                                .id = slot.name(),
                                .bundle = tree.path(),
                                .state = state_in(tree.path()),
                                .image = image,
                                .egress_port = spec.egress_port,
                                .control = inner.get()},
                               spec, programs, cgroup, notes));
  watch.lap("runsc");
  return Enclosure{.slot = std::move(slot),
                   .cgroup = std::move(cgroup),
                   .control = std::move(control),
                   .way_out = std::move(started.way_out),
                   .pidfd = std::move(started.process.pidfd),
                   .complaints = std::move(started.complaints),
                   .tree = tree.keep(),
                   .features = features(spec),
                   .seccomp = "default",
                   .notes = std::move(notes),
                   .timings = watch.laps(),
                   .setup = {},
                   .held = std::move(started.held)};
}

}  // namespace

Result<TierFeatures> GvisorTier::probe() {
  GB_TRY(find_runsc());
  return features({});
}

Result<Enclosure> GvisorTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  if (spec.egress_port != 0 && ::geteuid() != 0) {
    return Error(ErrorCode::kUnsupported,
                 "the gvisor tier has a network to filter only where root runs Glovebox",
                 "use the native tier, or leave out the network rules");
  }
  return build(spec, {});
}

Result<void> GvisorTier::save(const Enclosure& enclosure,
                              const std::string& directory,
                              Afterwards afterwards) {
  if (!enclosure.features.snapshots_memory) {
    return ::geteuid() != 0
               ? Tier::save(enclosure, directory, afterwards)
               : Error(ErrorCode::kUnsupported,
                       "the memory of a sandbox with network rules cannot be saved: its "
                       "connections are not in it",
                       "use a sandbox without network rules");
  }
  const RunscOrder order{.program = GB_TRY(find_runsc()),
                         .id = enclosure.slot->name(),
                         .bundle = enclosure.tree,
                         .state = state_in(enclosure.tree),
                         .image = directory};
  const bool goes_on = afterwards == Afterwards::kGoesOn;
  return GB_TRY(save_kernel(order, goes_on)) ? Result<void>() : save_by_runsc(order, goes_on);
}

Result<Enclosure> GvisorTier::load(const SandboxSpec& spec, const std::string& directory) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  if (!saves_memory(spec)) {
    return Tier::load(spec, directory);
  }
  return build(spec, directory);
}

Result<std::string> GvisorTier::memory_format() { return version_of_runsc(GB_TRY(find_runsc())); }

std::string GvisorTier::manner() const { return manner_of_start(); }

}  // namespace glovebox
