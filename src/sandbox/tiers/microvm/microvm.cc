// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/microvm.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/microvm/protocol.h"
#include "sandbox/microvm/template_files.h"
#include "sandbox/moving_in.h"
#include "sandbox/policy/policy.h"
#include "sandbox/stopwatch.h"
#include "sandbox/tiers/microvm/machine.h"
#include "sandbox/tiers/microvm/machine_template.h"
#include "sandbox/tiers/microvm/port.h"
#include "sandbox/tiers/microvm/qemu.h"
#include "sandbox/tiers/native/native.h"

namespace glovebox {
namespace {

// Of QEMU: its threads, and what its own sandbox may write, which is nothing of a guest's.
constexpr std::uint32_t kEmulatorPids = 64;
constexpr Bytes kEmulatorDisk{4UL << 20};

TierFeatures features() {
  return {.limits_disk = true,
          .limits_inodes = true,
          .limits_memory = Cgroup::support().memory,
          .limits_pids = true,
          .own_kernel = true,
          .own_pids = true,
          .own_root = true,
          .loopback_network = true,
          .passes_descriptors = false,
          .returns_descriptors = false};
}

struct Streams {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Streams> make_streams() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::from_errno("socketpair");
  }
  return Streams{.ours = UniqueFd(pair[0]), .theirs = UniqueFd(pair[1])};
}

// The sandbox around QEMU: what the guests are to see, and room for the machine.
SandboxSpec native_spec(const SandboxSpec& spec,
                        const microvm::Installation& installation,
                        const microvm::MachineSize& size) {
  SandboxSpec native = spec;
  native.limits.memory = Bytes{size.memory.count + microvm::kEmulatorMemory.count};
  native.limits.pids = kEmulatorPids;
  native.limits.disk = kEmulatorDisk;
  native.env.clear();
  native.relay = false;
  native.mounts.push_back(microvm::programs_mount(installation));
  return native;
}

Result<microvm::Order> order_for(const SandboxSpec& spec) {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  microvm::Order order{
      .time_ns = static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(now).count()),
      .memory = spec.limits.memory.count,
      .pids = spec.limits.pids,
      .disk = spec.limits.disk.count,
      .inodes = spec.limits.inodes,
      .hostname = spec.hostname,
      .seed = std::string(microvm::kSeedSize, '\0')};
  if (::getrandom(order.seed.data(), order.seed.size(), 0) != std::ssize(order.seed)) {
    return Error::from_errno("getrandom");
  }
  return order;
}

}  // namespace

Result<TierFeatures> MicrovmTier::probe() {
  GB_TRY(microvm::find_installation());
  GB_TRY(NativeTier().probe());
  return features();
}

Result<Enclosure> MicrovmTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  const microvm::Installation installation = GB_TRY(microvm::find_installation());
  const microvm::MachineSize size = microvm::size_for(spec.limits);
  const auto machine_template = microvm::find_or_make_template(installation, size);
  SandboxSpec native = native_spec(spec, installation, size);
  if (machine_template) {
    native.mounts.push_back(
        {.source = *machine_template, .target = microvm::kTemplatePlace, .closed = true});
  }
  std::vector<std::string> command = {std::string(microvm::kPrograms) + microvm::kRunner,
                                      machine_template ? microvm::kClone : microvm::kBoot};
  for (std::string& argument : microvm::machine_command(installation, size)) {
    command.push_back(std::move(argument));
  }
  Enclosure enclosure = GB_TRY(NativeTier().enclose(native));
  Stopwatch watch;
  Streams control = GB_TRY(make_streams());
  Streams machine = GB_TRY(make_streams());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::from_errno("pipe");
  }
  UniqueFd complaints(ends[0]);
  const UniqueFd write_end(ends[1]);
  auto port = std::make_unique<microvm::Port>(std::move(machine.ours));
  enclosure.carrier = GB_TRY(microvm::Machine::start(
      enclosure, command, {control.theirs.get(), write_end.get(), machine.theirs.get()}, *port));
  GB_TRY(port->order(GB_TRY(order_for(spec))));
  const std::string request = moving_in_frame(spec, policy::own_kernel_filter());
  if (::send(control.ours.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      std::ssize(request)) {
    return Error::from_errno("instruct the warden");
  }
  watch.lap("machine");
  enclosure.control = std::move(control.ours);
  enclosure.meter = std::move(port);
  enclosure.complaints = std::move(complaints);
  enclosure.features = features();
  enclosure.machine = "QEMU TCG";
  enclosure.landlock = 0;
  if (!machine_template) {
    enclosure.notes.push_back("the machine booted, for there is no template of it: " +
                              machine_template.error().message());
  }
  for (Timing& lap : watch.laps()) {
    enclosure.timings.push_back(std::move(lap));
  }
  return enclosure;
}

}  // namespace glovebox
