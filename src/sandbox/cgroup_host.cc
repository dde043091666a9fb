// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

namespace glovebox {
namespace {

std::optional<std::string> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got <= 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

bool write_file(const std::string& path, std::string_view value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), value.data(), value.size()) >= 0;
}

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" ,\n");
    if (text.substr(0, end) == word) {
      return true;
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return false;
}

// Our own path in the hierarchy of `controller` ("" for v2), from /proc/self/cgroup: lines
// "ID:CONTROLLER,…:PATH" (cgroups(7)).
std::optional<std::string> own_path(std::string_view table, std::string_view controller) {
  while (!table.empty()) {
    const std::size_t end = table.find('\n');
    const std::string_view line = table.substr(0, end);
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second != std::string_view::npos) {
      const std::string_view names = line.substr(first + 1, second - first - 1);
      if (controller.empty() ? names.empty() : has_word(names, controller)) {
        return std::string(line.substr(second + 1));
      }
    }
    table = end == std::string_view::npos ? std::string_view{} : table.substr(end + 1);
  }
  return std::nullopt;
}

// The directory of `controller` that we are in and may make groups in, or nothing.
std::string v1_directory(std::string_view table, std::string_view controller) {
  const auto path = own_path(table, controller);
  if (!path) {
    return {};
  }
  const std::string mount = std::string(kCgroupRoot) + "/" + std::string(controller);
  // In a container our path may be one of the host's, which the mount does not show.
  for (const std::string& directory : {*path == "/" ? mount : mount + *path, mount}) {
    if (::access((directory + "/tasks").c_str(), W_OK) == 0 &&
        ::access(directory.c_str(), W_OK) == 0) {
      return directory;
    }
  }
  return {};
}

// Whether groups below `directory` get the controllers; tries to delegate them.
bool delegates(const std::string& directory) {
  if (::access(directory.c_str(), W_OK) != 0) {
    return false;
  }
  const auto available = read_file(directory + "/cgroup.controllers");
  if (!available || !has_word(*available, "memory") || !has_word(*available, "pids")) {
    return false;
  }
  const std::string control = directory + "/cgroup.subtree_control";
  // Memory first, and pids only with it: the kernel refuses memory while a process is in the
  // group, but accepts pids and cpu, which makes the group a threaded one without room for others.
  if (write_file(control, "+memory +pids")) {
    for (const char* const controller : {"cpu", "io"}) {
      if (has_word(*available, controller)) {
        (void)write_file(control, std::string("+") + controller);
      }
    }
  }
  const auto enabled = read_file(control);
  return enabled && has_word(*enabled, "memory") && has_word(*enabled, "pids");
}

// The group that we move into, below a group that was given to us. A systemd unit may name the same
// one with DelegateSubgroup= (systemd.resource-control(5)).
constexpr std::string_view kRoom = "/glovebox-host";

// Whether no process but this one is in a group.
bool alone_in(const std::string& directory) {
  const auto processes = read_file(directory + "/cgroup.procs");
  return processes && *processes == std::to_string(::getpid()) + "\n";
}

// A cgroup that delegates controllers may hold no process (the "no internal processes" rule), so
// when we sit alone in a group that was given to us, we move one level down.
bool make_room(const std::string& directory) {
  const std::string inner = directory + std::string(kRoom);
  if (::access((directory + "/cgroup.procs").c_str(), W_OK) != 0 || !alone_in(directory) ||
      (::mkdir(inner.c_str(), 0755) != 0 && errno != EEXIST)) {
    return false;
  }
  if (write_file(inner + "/cgroup.procs", "0") && delegates(directory)) {
    return true;
  }
  (void)write_file(directory + "/cgroup.procs", "0");
  (void)::rmdir(inner.c_str());
  return false;
}

// Our own group comes before the one above, which root may write to as well: there our groups would
// be outside of our own unit, and outside of its limits.
std::string find_v2_parent(const std::string& mount, const std::string& own) {
  std::string here = own == "/" ? mount : mount + own;
  if (delegates(here)) {
    return here;
  }
  if (own != "/") {
    if (!own.ends_with(kRoom) && make_room(here)) {
      return here;
    }
    std::string above = here.substr(0, here.rfind('/'));
    if (above.size() >= mount.size() && delegates(above)) {
      return above;
    }
  }
  if (::geteuid() == 0 && delegates(mount)) {
    return mount;
  }
  return {};
}

constexpr const char* kBootV2 = "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)";

void explain_absent_v1(CgroupSupport& support) {
  const std::string root(kCgroupRoot);
  if (::geteuid() != 0) {
    support.reason = "cgroup v1 requires root";
    support.hint = std::string("run as root, or ") + kBootV2;
  } else if (::access((root + "/memory/tasks").c_str(), F_OK) == 0) {
    support.reason = root + " is read-only";
    support.hint = "mount the memory and pids controllers there so that root can write to them";
  } else {
    support.reason = "the memory and pids controllers are not mounted below " + root;
    support.hint = std::string("mount them there, or ") + kBootV2;
  }
}

void explain_absent_v2(CgroupSupport& support) {
  const bool as_root = ::geteuid() == 0;
  const bool has_systemd = ::access("/run/systemd/system", F_OK) == 0;  // sd_booted(3)
  if (as_root && ::access(std::string(kCgroupRoot).c_str(), W_OK) != 0) {
    support.reason = std::string(kCgroupRoot) + " is read-only";
    support.hint = "mount it so that root can write to it";
    return;
  }
  support.reason = "no cgroup is delegated to this process";
  if (has_systemd) {
    support.hint = std::string("start glovebox with 'systemd-run ") + (as_root ? "" : "--user ") +
                   "--scope -p Delegate=yes'" + (as_root ? "" : ", or as root");
  } else {
    support.hint = as_root ? "start glovebox in a cgroup that has the memory and pids controllers"
                           : "run as root";
  }
}

CgroupHost look_at_host() {
  CgroupHost host;
  host.processors = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const auto table = read_file("/proc/self/cgroup");
  if (!table) {
    host.support.reason = "/proc/self/cgroup cannot be read";
    host.support.hint = "mount /proc";
    return host;
  }
  host.v1_memory = v1_directory(*table, "memory");
  host.v1_pids = v1_directory(*table, "pids");
  if (!host.v1_memory.empty() && !host.v1_pids.empty()) {
    host.v1_cpu = v1_directory(*table, "cpu");
    host.v1_cpuacct = v1_directory(*table, "cpuacct");
    host.v1_blkio = v1_directory(*table, "blkio");
    host.support = {.mode = CgroupMode::kV1,
                    .memory = true,
                    .pids = true,
                    .cpu = !host.v1_cpu.empty(),
                    .io = !host.v1_blkio.empty(),
                    .reason = {},
                    .hint = {}};
    return host;
  }
  struct statfs status {};
  const std::string root(kCgroupRoot);
  const bool unified = ::statfs(root.c_str(), &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC;
  if (!unified) {
    explain_absent_v1(host.support);
    return host;
  }
  host.v2_parent = find_v2_parent(root, own_path(*table, "").value_or("/"));
  if (host.v2_parent.empty()) {
    explain_absent_v2(host.support);
    return host;
  }
  const std::string enabled =
      read_file(host.v2_parent + "/cgroup.subtree_control").value_or(std::string());
  host.support = {.mode = CgroupMode::kV2,
                  .memory = has_word(enabled, "memory"),
                  .pids = has_word(enabled, "pids"),
                  .cpu = has_word(enabled, "cpu"),
                  .io = has_word(enabled, "io"),
                  .reason = {},
                  .hint = {}};
  return host;
}

}  // namespace

const CgroupHost& cgroup_host() {
  static const CgroupHost kHost = look_at_host();
  return kHost;
}

std::string cgroup_directory(pid_t pid, std::string_view controller) {
  const auto table = read_file("/proc/" + std::to_string(pid) + "/cgroup");
  const auto path = table ? own_path(*table, controller) : std::nullopt;
  if (!path) {
    return {};
  }
  std::string directory(kCgroupRoot);
  if (!controller.empty()) {
    directory += "/" + std::string(controller);
  }
  directory += *path == "/" ? "" : *path;
  return ::access((directory + "/cgroup.procs").c_str(), F_OK) == 0 ? directory : std::string();
}

std::vector<std::string> block_devices() {
  std::vector<std::string> devices;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/sys/block"), ::closedir);
  if (!directory) {
    return devices;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream is read by one thread.
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    // Disks in memory and unused loop devices have no rate to limit.
    if (name.starts_with('.') || name.starts_with("ram") || name.starts_with("loop")) {
      continue;
    }
    if (auto numbers = read_file("/sys/block/" + name + "/dev"); numbers && numbers->size() > 1) {
      numbers->pop_back();
      devices.push_back(*std::move(numbers));
    }
  }
  return devices;
}

std::uint64_t keyed_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      std::uint64_t value = 0;
      const std::string_view number = line.substr(key.size() + 1);
      (void)std::from_chars(number.data(), number.data() + number.size(), value);
      return value;
    }
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return 0;
}

}  // namespace glovebox
