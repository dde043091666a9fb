// SPDX-License-Identifier: Apache-2.0
#include "sandbox/tiers/docker/request.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

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

// The limits of disk and inodes are divided among the places that a guest can write to, of which
// each is a file system of its own: in sixty-fourths, and their sum is the limit.
struct Share {
  std::string target;
  std::uint32_t parts;
  const char* mode;
};
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

json tmpfs(const SandboxSpec& spec, uid_t uid, gid_t gid) {
  const std::array<Share, 3> shares = {{{spec.home, kWorkspaceParts, "0755"},
                                        {"/tmp", kTmpParts, "1777"},
                                        {"/dev/shm", kShmParts, "1777"}}};
  json mounts = json::object();
  for (const Share& share : shares) {
    const std::uint64_t size = spec.limits.disk.count / kAllParts * share.parts;
    // The root directory of each takes one.
    const std::uint64_t inodes = std::uint64_t{spec.limits.inodes} * share.parts / kAllParts + 1;
    mounts[share.target] = "rw,exec,nosuid,nodev,size=" + std::to_string(std::max(size, kPage)) +
                           ",nr_inodes=" + std::to_string(inodes) + ",mode=" + share.mode +
                           ",uid=" + std::to_string(uid) + ",gid=" + std::to_string(gid);
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

// A devpts of the sandbox's own: nothing charges the buffers of terminals to it, and all of the
// host's sandboxes share kernel.pty.max. It goes with the container.
json terminals() {
  return {{"Type", "volume"},
          {"Target", "/dev/pts"},
          {"VolumeOptions",
           {{"NoCopy", true},
            {"DriverConfig",
             {{"Name", "local"},
              {"Options",
               {{"type", "devpts"},
                {"device", "devpts"},
                {"o", "nosuid,noexec,mode=0620,ptmxmode=0666,max=64"}}}}}}}};
}

// What the environment chooses of the engine's; empty: the engine's default.
std::string runtime() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const name = std::getenv("GLOVEBOX_DOCKER_RUNTIME");
  return name != nullptr ? name : "";
}

void add_limits(json& to, const Limits& limits) {
  to["Memory"] = limits.memory.count;
  to["MemorySwap"] = limits.memory.count;  // Both together: no swap.
  to["PidsLimit"] = limits.pids + kOwnProcesses;
  // Engines refuse more than the machine has, and take 0 for no limit.
  to["NanoCpus"] = limits.cpus < cgroup_host().processors
                       ? std::llround(std::max(limits.cpus, kLeastCpus) * 1e9)
                       : 0;
}

}  // namespace

std::string create_request(const Image& image,
                           const SandboxSpec& spec,
                           const std::vector<Mount>& mounts,
                           uid_t uid,
                           gid_t gid) {
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
      {"Tmpfs", tmpfs(spec, uid, gid)},
      {"Mounts", binds(mounts)},
      {"MaskedPaths", kMasked},
      {"ReadonlyPaths", json::array({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys"})},
      {"Ulimits", json::array({{{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}})},
  };
  add_limits(host, spec.limits);
  // Engines switch it off on the loopback of a container without a network.
  if (constexpr const char* kIpv6 = "/proc/sys/net/ipv6/conf/lo/disable_ipv6";
      ::access(kIpv6, F_OK) == 0) {
    host["Sysctls"] = {{"net.ipv6.conf.lo.disable_ipv6", "0"}};
  }
  const std::string chosen = runtime();
  if (!chosen.empty()) {
    host["Runtime"] = chosen;
  }
  if (chosen.empty() || chosen == "runc" || chosen == "crun") {
    host["Mounts"].push_back(terminals());  // A kernel of its own has its own.
  }
  return json{{"Image", image.name},
              {"Hostname", spec.hostname},
              {"User", std::to_string(uid) + ":" + std::to_string(gid)},
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

}  // namespace glovebox::docker
