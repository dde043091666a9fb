// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/request.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/json/json.h"
#include "base/text.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/launcher/protocol.h"
#include "sandbox/runtime_directory.h"

namespace glovebox::docker {
namespace {

using nlohmann::json;

// The warden is in the group as well.
constexpr std::uint32_t kOwnProcesses = 1;
// The least that engines take.
constexpr double kLeastCpus = 0.01;
constexpr std::int64_t kPeriodUs = 100'000;
// What every kernel allows.
constexpr rlim_t kMostFiles = 1U << 20U;
constexpr rlim_t kMostProcesses = 1U << 15U;

// The limits of disk and inodes are divided among the places that a guest can write to, each a file
// system of its own: in sixty-fourths, and their sum is the limit.
struct Share {
  const char* name;
  std::string target;
  std::uint32_t parts;
  const char* mode;
};
// Named like those of the shares.
constexpr const char* kTerminals = "pts";
constexpr const char* kRun = "run";
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kAllParts = 64;
constexpr std::uint32_t kWorkspaceParts = 56;
constexpr std::uint32_t kTmpParts = 6;
constexpr std::uint32_t kShmParts = 2;
static_assert(kWorkspaceParts + kTmpParts + kShmParts == kAllParts);

// What engines cover of /proc by themselves (moby's oci/defaults.go names the same), and what the
// native tier covers besides.
constexpr std::array<const char*, 23> kMasked = {
    "/proc/asound",      "/proc/acpi",      "/proc/kcore",        "/proc/keys",
    "/proc/key-users",   "/proc/kallsyms",  "/proc/timer_list",   "/proc/timer_stats",
    "/proc/sched_debug", "/proc/schedstat", "/proc/scsi",         "/proc/latency_stats",
    "/proc/interrupts",  "/proc/softirqs",  "/proc/diskstats",    "/proc/partitions",
    "/proc/iomem",       "/proc/ioports",   "/proc/config.gz",    "/proc/locks",
    "/proc/cgroups",     "/proc/pressure",  "/proc/sysrq-trigger"};

std::array<Share, 3> shares_of(const SandboxSpec& spec) {
  return {{{"home", spec.home, kWorkspaceParts, "0755"},
           {"tmp", "/tmp", kTmpParts, "1777"},
           {"shm", "/dev/shm", kShmParts, "1777"}}};
}

// The options that mount(8) takes for a share.
std::string options_of(const Share& share, const ContainerSpec& spec) {
  const Limits& limits = spec.sandbox.limits;
  const std::uint64_t size = std::max(limits.disk.count / kAllParts * share.parts, kPage);
  // The root directory of each takes one.
  const std::uint64_t inodes = std::uint64_t{limits.inodes} * share.parts / kAllParts + 1;
  // Podman takes what is called `size` of a volume for a quota of its disk.
  const std::string bytes =
      spec.is_podman ? "nr_blocks=" + std::to_string(size / kPage) : "size=" + std::to_string(size);
  return "nosuid,nodev," + bytes + ",nr_inodes=" + std::to_string(inodes) + ",mode=" + share.mode +
         ",uid=" + std::to_string(spec.uid) + ",gid=" + std::to_string(spec.gid);
}

json tmpfs(const ContainerSpec& spec) {
  json mounts = json::object();
  for (const Share& share : shares_of(spec.sandbox)) {
    mounts[share.target] = "rw,exec," + options_of(share, spec);
  }
  return mounts;
}

json binds(const std::vector<Mount>& mounts) {
  json list = json::array();
  for (const Mount& mount : mounts) {
    // Without what is mounted below: that would stay writable (engines before 25.0).
    list.push_back({{"Type", "bind"},
                    {"Source", mount.source},
                    {"Target", mount.target},
                    {"ReadOnly", true},
                    {"BindOptions", {{"Propagation", "rprivate"}, {"NonRecursive", true}}}});
  }
  return list;
}

// /run is root's, for the places on which the runtime mounts what we show there. The terminals are
// a devpts of the sandbox's own: nothing charges it for their buffers, and all of the host's
// sandboxes share kernel.pty.max. It goes with the container.
constexpr const char* kRunOptions = "nosuid,nodev,nr_blocks=16,nr_inodes=1024,mode=0755";
constexpr const char* kTerminalOptions = "nosuid,noexec,mode=0620,ptmxmode=0666,max=64";

json driver_options(const char* type, const std::string& options) {
  return {{"type", type}, {"device", type}, {"o", options}};
}

json terminals() {
  return {{"Type", "volume"},
          {"Target", "/dev/pts"},
          {"VolumeOptions",
           {{"NoCopy", true},
            {"DriverConfig",
             {{"Name", "local"}, {"Options", driver_options("devpts", kTerminalOptions)}}}}}};
}

std::string volume_name(const std::string& container, const char* name) {
  return container + "-" + name;
}

// What mounts the volumes. On /run and /var/tmp of a root that is read-only, Podman mounts file
// systems in memory without a limit, unless something is mounted there.
json volume_binds(const ContainerSpec& spec) {
  json binds = json::array();
  const auto add = [&](const char* name, const std::string& target, const char* flags) {
    binds.push_back(volume_name(spec.name, name) + ":" + target + ":nocopy,nosuid," + flags);
  };
  for (const Share& share : shares_of(spec.sandbox)) {
    add(share.name, share.target, "nodev,exec");
  }
  add("tmp", "/var/tmp", "nodev,exec");
  add(kRun, "/run", "nodev,noexec");
  if (takes_terminals(spec)) {
    // A volume on /dev/pts may be mounted before or after Podman's own terminals; what is bound
    // there is mounted in their place.
    add(kTerminals, "/run/terminals", "dev,noexec");
    binds.push_back(spec.terminals + ":/dev/pts:nosuid,noexec,dev");
  }
  return binds;
}

// As much as we have ourselves, but no more than `most`.
json limit_of(const char* name, __rlimit_resource resource, rlim_t most) {
  rlimit own{};
  (void)::getrlimit(resource, &own);
  const rlim_t limit = std::min(own.rlim_max, most);
  return {{"Name", name}, {"Soft", limit}, {"Hard", limit}};
}

rlim_t number_in(const char* path, rlim_t otherwise) {
  std::ifstream file(path);
  rlim_t number = 0;
  return file >> number ? number : otherwise;
}

// No more than the machine has.
double processors(const Limits& limits) {
  return std::clamp(limits.cpus, kLeastCpus, static_cast<double>(cgroup_host().processors));
}

void add_limits(json& to, const Limits& limits) {
  to["Memory"] = limits.memory.count;
  to["MemorySwap"] = limits.memory.count;  // Both together: no swap.
  to["PidsLimit"] = limits.pids + kOwnProcesses;
  // Engines refuse more than the machine has, and take 0 for no limit.
  to["NanoCpus"] =
      limits.cpus < cgroup_host().processors ? std::llround(processors(limits) * 1e9) : 0;
}

// What Podman is told differently.
void add_for_podman(json& host, const ContainerSpec& spec) {
  host["Binds"] = volume_binds(spec);
  std::string masks = "mask=";
  for (const char* const path : kMasked) {
    masks.append(masks.ends_with('=') ? "" : ":").append(path);
  }
  host["SecurityOpt"].push_back(masks);
  // By itself it would raise these as far as they go, for which it takes CAP_SYS_RESOURCE. Its own
  // processes are as many as there are numbers.
  host["Ulimits"].push_back(
      limit_of("nofile", RLIMIT_NOFILE, number_in("/proc/sys/fs/nr_open", kMostFiles)));
  host["Ulimits"].push_back(
      limit_of("nproc", RLIMIT_NPROC, number_in("/proc/sys/kernel/pid_max", kMostProcesses)));
}

void add_for_docker(json& host, const ContainerSpec& spec) {
  host["Tmpfs"] = tmpfs(spec);
  host["MaskedPaths"] = kMasked;
  host["ReadonlyPaths"] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"};
  host["Runtime"] = spec.runtime;
  if (takes_terminals(spec)) {
    host["Mounts"].push_back(terminals());
  }
}

}  // namespace

// A runtime with a kernel of its own has its own terminals.
bool takes_terminals(const ContainerSpec& spec) {
  return spec.runtime.empty() || spec.runtime == "runc" || spec.runtime == "crun" ||
         spec.runtime == "io.containerd.runc.v2";
}

Result<std::string> runtime_of(const Engine& engine) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const named = std::getenv("GLOVEBOX_DOCKER_RUNTIME");
  if (named == nullptr || *named == '\0') {
    return engine.default_runtime();
  }
  if (engine.is_podman()) {
    const auto info = GB_TRY(json_of(GB_TRY(engine.ask("GET", "/info"))));
    if (const std::string only = text_of(info, "DefaultRuntime"); only != named) {
      return Error(ErrorCode::kUnsupported,
                   "Podman's service runs containers with '" + printable(only) +
                       "', and not with '" + printable(named) + "'",
                   "start it with 'podman --runtime …', or unset GLOVEBOX_DOCKER_RUNTIME");
    }
  }
  return std::string(named);
}

std::vector<std::string> volume_names(const std::string& container) {
  std::vector<std::string> names;
  for (const Share& share : shares_of({})) {
    names.push_back(volume_name(container, share.name));
  }
  names.push_back(volume_name(container, kRun));
  names.push_back(volume_name(container, kTerminals));
  return names;
}

std::vector<std::string> volume_requests(const ContainerSpec& spec) {
  std::vector<std::string> requests;
  const auto add = [&](const char* name, const char* type, const std::string& options) {
    requests.push_back(json{{"Name", volume_name(spec.name, name)},
                            {"Driver", "local"},
                            {"DriverOpts", driver_options(type, options)},
                            {"Labels", {{kOwnerLabel, runtime_directory()}}}}
                           .dump());
  };
  for (const Share& share : shares_of(spec.sandbox)) {
    add(share.name, "tmpfs", options_of(share, spec));
  }
  add(kRun, "tmpfs", kRunOptions);
  if (takes_terminals(spec)) {
    add(kTerminals, "devpts", kTerminalOptions);
  }
  return requests;
}

std::string create_request(const ContainerSpec& spec) {
  json host = {
      {"AutoRemove", true},
      {"CapDrop", json::array({"ALL"})},
      {"SecurityOpt", json::array({"no-new-privileges"})},
      {"ReadonlyRootfs", true},
      {"NetworkMode", "none"},
      {"IpcMode", "private"},
      {"CgroupnsMode", "private"},
      {"Privileged", false},
      {"Init", false},
      {"LogConfig", {{"Type", "none"}}},
      {"RestartPolicy", {{"Name", "no"}}},
      {"Mounts", binds(spec.mounts)},
      {"Ulimits", json::array({{{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}})},
  };
  add_limits(host, spec.sandbox.limits);
  // Engines switch it off on the loopback of a container without a network.
  if (constexpr const char* kIpv6 = "/proc/sys/net/ipv6/conf/lo/disable_ipv6";
      ::access(kIpv6, F_OK) == 0) {
    host["Sysctls"] = {{"net.ipv6.conf.lo.disable_ipv6", "0"}};
  }
  if (spec.is_podman) {
    add_for_podman(host, spec);
  } else {
    add_for_docker(host, spec);
  }
  return json{{"Image", spec.image.name},
              {"Hostname", spec.sandbox.hostname},
              {"User", std::to_string(spec.uid) + ":" + std::to_string(spec.gid)},
              {"Entrypoint", json::array({std::string(launcher::kPrograms) + "/launcher"})},
              {"Cmd", json::array()},
              {"WorkingDir", "/"},
              {"Tty", false},
              {"OpenStdin", false},
              {"AttachStdout", false},
              {"AttachStderr", false},
              // An image's own would run beside the guest, outside of the warden's filter.
              {"Healthcheck", {{"Test", json::array({"NONE"})}}},
              {"Labels", {{kOwnerLabel, runtime_directory()}}},
              {"HostConfig", std::move(host)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string update_request(const Limits& limits) {
  json request = json::object();
  add_limits(request, limits);
  return request.dump();
}

std::string podman_update_request(const Limits& limits) {
  return json{{"memory", {{"limit", limits.memory.count}, {"swap", limits.memory.count}}},
              {"pids", {{"limit", limits.pids + kOwnProcesses}}},
              {"cpu",
               {{"period", kPeriodUs},
                {"quota", std::llround(processors(limits) * static_cast<double>(kPeriodUs))}}}}
      .dump();
}

}  // namespace glovebox::docker
