// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/microvm/microvm.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sys/read_all.h"
#include "base/sys/send_now.h"
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
#include "spec/egress_protocol.h"

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
          .emulated = true,
          .own_pids = true,
          .own_root = true,
          .loopback_network = true,
          .passes_descriptors = false,
          .returns_descriptors = false,
          .snapshots_memory = true};
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

// The sandbox around QEMU: what the guests should see, and room for the machine.
SandboxSpec native_spec(const SandboxSpec& spec,
                        const microvm::Installation& installation,
                        const microvm::MachineModel& model) {
  SandboxSpec native = spec;
  native.limits.memory = Bytes{model.memory.count + microvm::kEmulatorMemory.count};
  native.limits.pids = kEmulatorPids;
  native.limits.disk = kEmulatorDisk;
  native.env.clear();
  native.relay = false;
  native.mounts.push_back(microvm::programs_mount(installation));
  return native;
}

// The directories in /run that the guests see, of those that the native sandbox has there.
std::vector<std::string> shown_in_run(const SandboxSpec& spec) {
  constexpr std::string_view kRun = "/run/";
  std::set<std::string> names;
  const auto add = [&](std::string_view path) {
    if (path.starts_with(kRun)) {
      path.remove_prefix(kRun.size());
      names.emplace(path.substr(0, path.find('/')));
    }
  };
  for (const Mount& mount : spec.mounts) {
    add(mount.target);
  }
  if (!spec.own_files.empty()) {
    add(SandboxSpec::kOwnFiles);
  }
  return {names.begin(), names.end()};
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
      .seed = std::string(microvm::kSeedSize, '\0'),
      .shown = shown_in_run(spec)};
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

namespace {

// What a machine begins as.
struct Beginning {
  std::vector<Mount>
      mounts;             // With the files of the machine that it is a clone of; none: it boots.
  bool is_saved = false;  // That machine had its order before.
};

Result<Enclosure> build(const SandboxSpec& spec,
                        const microvm::Installation& installation,
                        const microvm::MachineModel& model,
                        Beginning beginning) {
  SandboxSpec native = native_spec(spec, installation, model);
  const bool is_clone = !beginning.mounts.empty();
  native.mounts.insert(native.mounts.end(), beginning.mounts.begin(), beginning.mounts.end());
  std::vector<std::string> command = {std::string(microvm::kPrograms) + microvm::kRunner,
                                      beginning.is_saved ? microvm::kContinue
                                      : is_clone         ? microvm::kClone
                                                         : microvm::kBoot};
  for (std::string& argument : microvm::machine_command(installation, model)) {
    command.push_back(std::move(argument));
  }
  Enclosure enclosure = GB_TRY(NativeTier().enclose(native));
  Stopwatch watch;
  Streams control = GB_TRY(make_streams());
  Streams machine = GB_TRY(make_streams());
  Streams saving = GB_TRY(make_streams());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::from_errno("pipe");
  }
  UniqueFd complaints(ends[0]);
  const UniqueFd write_end(ends[1]);
  if (!sys::send_now(machine.ours.get(), {"", 1}, std::array{saving.theirs.get()})) {
    return Error::from_errno("instruct the machine");
  }
  auto port = std::make_unique<microvm::Port>(std::move(machine.ours));
  auto carrier = GB_TRY(microvm::Machine::start(
      enclosure, command, {control.theirs.get(), write_end.get(), machine.theirs.get()}, *port));
  carrier->save_over(std::move(saving.ours), model.memory);
  enclosure.carrier = std::move(carrier);
  const microvm::Order order = GB_TRY(order_for(spec));
  if (beginning.is_saved) {
    GB_TRY(port->renew(order));
  } else {
    GB_TRY(port->order(order));
    // A clone's warden has moved in and ignores the first one, which is for a machine that boots
    // because the template cannot be loaded after all.
    const std::string request =
        moving_in_frame(spec.home, policy::own_kernel_filter()) + machine_frame(spec.limits);
    if (::send(control.ours.get(), request.data(), request.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        std::ssize(request)) {
      return Error::from_errno("instruct the warden");
    }
  }
  watch.lap("machine");
  enclosure.control = std::move(control.ours);
  enclosure.meter = std::move(port);
  enclosure.complaints = std::move(complaints);
  enclosure.features = features();
  enclosure.features.snapshots_memory = is_clone;
  enclosure.machine = "QEMU TCG";
  enclosure.landlock = 0;
  for (Timing& lap : watch.laps()) {
    enclosure.timings.push_back(std::move(lap));
  }
  return enclosure;
}

}  // namespace

Result<Enclosure> MicrovmTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  const microvm::Installation installation = GB_TRY(microvm::find_installation());
  if (spec.egress_port != 0) {
    GB_TRY(microvm::check_card_drivers(installation));
  }
  const microvm::MachineModel model = microvm::model_for(spec.limits, spec.egress_port);
  const auto machine_template = microvm::find_or_make_template(installation, model, spec.home);
  Beginning beginning;
  if (machine_template) {
    beginning.mounts.push_back(
        {.source = *machine_template, .target = microvm::kTemplatePlace, .closed = true});
  }
  Enclosure enclosure = GB_TRY(build(spec, installation, model, std::move(beginning)));
  if (!machine_template) {
    enclosure.notes.push_back("the machine booted, for there is no template of it: " +
                              machine_template.error().message());
  }
  return enclosure;
}

namespace {

// Whether the machine had a card, which QEMU names in the state of the devices. A machine with a
// card cannot continue the state of one without, nor the other way round.
Result<bool> had_card(const std::string& directory) {
  const std::string path = directory + "/" + microvm::kStateName;
  // It may have been imported: anything could be there, of any size.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    return Error::from_errno("open the state of the saved machine");
  }
  const std::string state = GB_TRY(
      sys::read_all(file.get(), Bytes{microvm::kMostState}, "the state of the saved machine"));
  return state.find(microvm::kCardState) != std::string::npos;
}

}  // namespace

Result<void> MicrovmTier::save(const Enclosure& enclosure,
                               const std::string& directory,
                               Afterwards afterwards) {
  if (!enclosure.features.snapshots_memory) {
    return Error(ErrorCode::kUnsupported, "a machine that has booted cannot be saved",
                 "create a sandbox when there is a template of its machine");
  }
  // This tier has made it.
  auto& machine = static_cast<microvm::Machine&>(*enclosure.carrier);
  return machine.save(directory, afterwards == Afterwards::kGoesOn);
}

Result<Enclosure> MicrovmTier::load(const SandboxSpec& spec, const std::string& directory) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  const microvm::Installation installation = GB_TRY(microvm::find_installation());
  // If nothing is let out any more, its card leads nowhere.
  const microvm::MachineModel model =
      microvm::model_for(spec.limits, GB_TRY(had_card(directory)) ? egress::kPort : 0);
  struct stat memory {};
  if (::stat((directory + "/" + microvm::kMemoryName).c_str(), &memory) != 0 ||
      static_cast<std::uint64_t>(memory.st_size) != model.memory.count) {
    return Error(ErrorCode::kInvalid, "the saved machine has another size than its sandbox");
  }
  Beginning beginning{.mounts = {}, .is_saved = true};
  for (const char* const name : {microvm::kMemoryName, microvm::kStateName, microvm::kNamesName}) {
    beginning.mounts.push_back({.source = directory + "/" + name,
                                .target = std::string(microvm::kTemplatePlace) + "/" + name,
                                .closed = true});
  }
  return build(spec, installation, model, std::move(beginning));
}

}  // namespace glovebox
