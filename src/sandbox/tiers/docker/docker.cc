// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/docker.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "base/sys/kernel_abi.h"
#include "sandbox/launch.h"
#include "sandbox/launcher/handshake.h"
#include "sandbox/policy/policy.h"
#include "sandbox/stopwatch.h"
#include "sandbox/tiers/docker/container.h"
#include "sandbox/tiers/docker/container_network.h"
#include "sandbox/tiers/docker/request.h"
#include "sandbox/tiers/native/root_plan.h"

namespace glovebox {
namespace {

constexpr std::uint32_t kScopesFrom = 6;  // The ABI that keeps signals inside (Linux 6.12).
constexpr std::uint32_t kHighestAbi = 64;

struct Ready {
  docker::Engine engine;
  docker::Image image;
  std::string runtime;
};

// The engine and an image that it can start, or what is missing.
Result<Ready> prepare(std::string_view home) {
  docker::Engine engine = GB_TRY(docker::Engine::find());
  docker::Image image = docker::wanted_image(home);
  if (image.own_system && home != kWorkspace) {
    return Error(ErrorCode::kUnsupported, "the docker tier cannot move the workspace in an image",
                 "use the native tier, or unset GLOVEBOX_DOCKER_IMAGE");
  }
  GB_TRY(docker::check_image(engine, image));
  std::string runtime = GB_TRY(docker::runtime_of(engine));
  return Ready{.engine = std::move(engine),
               .image = std::move(image),
               .runtime = std::move(runtime)};
}

// Whether a way out can be made in the networks of its containers.
Result<void> check_network(const docker::Engine& engine) {
  return ::geteuid() == 0 && !engine.maps_ids()
             ? Result<void>()
             : Error(ErrorCode::kUnsupported,
                     "the docker tier has a network to filter only where root runs Glovebox, and "
                     "an engine that maps no user ids",
                     "use the native tier, or leave out the network rules");
}

launcher::Order order_for(const SandboxSpec& spec, std::uint32_t landlock) {
  launcher::Order order{
      .workspace = spec.home,
      .landlock_abi = landlock,
      .landlock_fs = landlock_fs_rights(static_cast<int>(landlock)),
      .rules = {},
      .filter = {},
      .warden_arguments = {"glovebox-warden", "own-pids", "user", "/tmp", "/dev/shm"}};
  if (landlock >= kScopesFrom) {
    order.landlock_scoped = abi::kScopeAbstractUnixSocket | abi::kScopeSignal;
  }
  for (const child::AccessRule& rule : native_access_rules()) {
    order.rules.push_back({.path = rule.path, .access = rule.access, .optional = rule.optional});
  }
  const policy::Filter filter = policy::default_filter();
  order.filter.assign(reinterpret_cast<const char*>(filter.data()), filter.size_bytes());
  return order;
}

// Two kernels have different boot ids, and a kernel that does not tell its own is not this one.
bool is_this_kernel(const std::string& boot_id) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string own;
  return std::getline(file, own) && boot_id == own + "\n";
}

TierFeatures features(const Cgroup& cgroup, const launcher::Greeting& greeting) {
  const bool own_kernel = !is_this_kernel(greeting.hello.boot_id);
  return {.limits_disk = true,
          .limits_inodes = true,
          .limits_memory = cgroup.limits_memory(),
          // Another kernel's threads are among what the host counts; its processes are not.
          .limits_pids = cgroup.limits_pids() && !own_kernel,
          .own_kernel = own_kernel,
          .own_pids = true,
          .own_root = true,
          .loopback_network = true,
          .passes_descriptors = greeting.hello.received_descriptor,
          .returns_descriptors = greeting.returned_descriptor};
}

}  // namespace

Result<TierFeatures> DockerTier::probe() {
  // Only a container of a runtime shows what the runtime can do.
  static const Result<TierFeatures> kTried = [this]() -> Result<TierFeatures> {
    return GB_TRY(enclose({})).features;
  }();
  return kTried;
}

Result<Enclosure> DockerTier::enclose(const SandboxSpec& spec) {
  GB_TRY(refuse_what_native_alone_has(spec, name()));
  Stopwatch watch;
  Ready ready = GB_TRY(prepare(spec.home));
  if (spec.egress_port != 0) {
    GB_TRY(check_network(ready.engine));
  }
  Slot slot = GB_TRY(Slot::take());
  watch.lap("slot");
  std::unique_ptr<docker::Container> container = GB_TRY(
      docker::Container::create(std::move(ready.engine), ready.image, ready.runtime, spec, slot));
  watch.lap("container_made");
  UniqueFd control = GB_TRY(container->start());
  watch.lap("container_started");
  const launcher::Greeting greeting = GB_TRY(launcher::greet(control));
  docker::Container::Process process = GB_TRY(container->inspect());
  Cgroup cgroup = GB_TRY(Cgroup::of_process(process.pid, spec.limits));
  const std::uint32_t landlock = std::min(greeting.hello.landlock_abi, kHighestAbi);
  const TierFeatures found = features(cgroup, greeting);
  WayOut way_out;
  if (spec.egress_port != 0) {
    if (found.own_kernel) {
      return Error(ErrorCode::kUnsupported,
                   "containers with a kernel of their own have a network that cannot be filtered",
                   "use the runtime runc or crun, or the gvisor tier");
    }
    way_out = GB_TRY(docker::way_out_of(process.pidfd.get(), spec.egress_port));
    watch.lap("way_out");
  }
  GB_TRY(launcher::give_order(control, order_for(spec, landlock)));
  watch.lap("launcher_told");
  return Enclosure{.slot = std::move(slot),
                   .cgroup = std::move(cgroup),
                   .carrier = std::move(container),
                   .control = std::move(control),
                   .way_out = std::move(way_out),
                   .pidfd = std::move(process.pidfd),
                   .tree = {},
                   .features = found,
                   .seccomp = "default",
                   .landlock = static_cast<int>(landlock),
                   .timings = watch.laps(),
                   .setup = {}};
}

Result<void> DockerTier::sweep(std::string_view note) {
  return docker::Container::remove_leftover(note);
}

}  // namespace glovebox
