// SPDX-License-Identifier: Apache-2.0
#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/sys/raw.h"
#include "sandbox/cgroup_host.h"

namespace glovebox {
namespace {

// The warden is in the group as well.
constexpr std::uint64_t kOwnProcesses = 1;
constexpr std::uint64_t kCpuPeriodUs = 100'000;

// The files that count, by their names in either hierarchy.
struct Counters {
  const char* cpu;
  const char* memory_peak;
  const char* memory_now;
  const char* oom_kills;
};
constexpr Counters kCountersV1{.cpu = "cpuacct.usage",
                               .memory_peak = "memory.max_usage_in_bytes",
                               .memory_now = "memory.usage_in_bytes",
                               .oom_kills = "memory.oom_control"};
constexpr Counters kCountersV2{.cpu = "cpu.stat",
                               .memory_peak = "memory.peak",
                               .memory_now = "memory.current",
                               .oom_kills = "memory.events"};
constexpr const char* kPidsPeak = "pids.peak";
constexpr const char* kPidsEvents = "pids.events";

const Counters& counters(CgroupMode mode) {
  return mode == CgroupMode::kV2 ? kCountersV2 : kCountersV1;
}

std::string cpu_quota_us(double cpus) {
  // The kernel takes no quota below a millisecond (kernel/sched/core.c, min_cfs_quota_period).
  return std::to_string(
      std::max<long long>(1000, std::llround(cpus * static_cast<double>(kCpuPeriodUs))));
}

// Waits a moment for a process that is being killed, without watching a clock of our own.
void wait_a_moment(int milliseconds) { (void)::poll(nullptr, 0, milliseconds); }

Result<void> remove_directory(const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) {
      return {};
    }
    // Busy until its last process has fully exited; v1 has no event for that.
    if (errno != EBUSY || attempt > 250) {
      return Error::from_errno("remove cgroup " + path);
    }
    wait_a_moment(attempt < 20 ? 1 : 5);
  }
}

}  // namespace

std::string_view to_string(CgroupMode mode) {
  switch (mode) {
    case CgroupMode::kNone:
      return "none";
    case CgroupMode::kV1:
      return "v1";
    case CgroupMode::kV2:
      return "v2";
  }
  return "none";
}

const CgroupSupport& Cgroup::support() { return cgroup_host().support; }

Result<int> Cgroup::add_branch(Slot& slot, const std::string& parent) {
  std::string path = parent + "/" + slot.name();
  GB_TRY(slot.note_cgroup(path));
  if (::mkdir(path.c_str(), 0755) != 0) {
    return Error::from_errno("create cgroup " + path);
  }
  // Ours from here on: removed even if it cannot be opened.
  Branch& branch = branches_.emplace_back(std::move(path), UniqueFd());
  branch.directory = UniqueFd(::open(branch.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!branch.directory) {
    return Error::from_errno("open cgroup " + branch.path);
  }
  return static_cast<int>(branches_.size()) - 1;
}

Result<Cgroup> Cgroup::create(Slot& slot, const Limits& limits, std::optional<Kernel> kernel) {
  Cgroup group;
  group.kernel_ = kernel;
  group.mode_ = cgroup_host().support.mode;
  switch (group.mode_) {
    case CgroupMode::kNone:
      break;
    case CgroupMode::kV1:
      GB_TRY(group.create_v1(slot, limits));
      break;
    case CgroupMode::kV2:
      GB_TRY(group.create_v2(slot, limits));
      break;
  }
  return group;
}

Result<void> Cgroup::create_v1(Slot& slot, const Limits& limits) {
  const CgroupHost& host = cgroup_host();
  // Only the hierarchies that are needed: each costs a directory and a move into it.
  memory_ = GB_TRY(add_branch(slot, host.v1_memory));
  pids_ = GB_TRY(add_branch(slot, host.v1_pids));
  if (!host.v1_cpu.empty() && limits.cpus < host.processors) {
    cpu_ = GB_TRY(add_branch(slot, host.v1_cpu));
  }
  // Always: the usage that processes report at their end leaves out those that nobody waits for.
  if (!host.v1_cpuacct.empty()) {
    cpu_time_ = host.v1_cpuacct == host.v1_cpu && cpu_ >= 0
                    ? cpu_
                    : GB_TRY(add_branch(slot, host.v1_cpuacct));
  }
  if (!host.v1_blkio.empty() && limits.io_rate.count > 0) {
    io_ = GB_TRY(add_branch(slot, host.v1_blkio));
  }
  GB_TRY(set_limits(limits));
  for (const Branch& branch : branches_) {
    UniqueFd tasks(::openat(branch.directory.get(), "tasks", O_WRONLY | O_CLOEXEC));
    if (!tasks) {
      return Error::from_errno("open " + branch.path + "/tasks");
    }
    task_fds_.push_back(tasks.get());
    tasks_.push_back(std::move(tasks));
  }
  return {};
}

Result<Cgroup> Cgroup::of_process(pid_t pid, const Limits& limits) {
  Cgroup group;
  group.ours_ = false;
  const auto add = [&](std::string_view controller) {
    std::string path = cgroup_directory(pid, controller);
    UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory) {
      return -1;
    }
    group.branches_.push_back({std::move(path), std::move(directory)});
    return static_cast<int>(group.branches_.size()) - 1;
  };
  group.memory_ = add("memory");
  if (group.memory_ >= 0) {
    group.mode_ = CgroupMode::kV1;
    group.pids_ = add("pids");
    group.cpu_ = add("cpu");
    group.cpu_time_ = add("cpuacct");
  } else {
    group.mode_ = CgroupMode::kV2;
    group.memory_ = group.pids_ = group.cpu_ = group.cpu_time_ = add("");
  }
  if (group.branches_.empty()) {
    return Error(ErrorCode::kUnsupported,
                 "the cgroups of process " + std::to_string(pid) + " are out of sight",
                 "mount them below /sys/fs/cgroup");
  }
  group.check_limits(limits);
  return group;
}

void Cgroup::check_limits(const Limits& limits) {
  const bool v1 = mode_ == CgroupMode::kV1;
  const auto within = [this](int branch, const char* file, std::uint64_t most) {
    const auto value = read_number(branch, file);
    return value && *value <= most;
  };
  if (!within(memory_, v1 ? "memory.limit_in_bytes" : "memory.max", limits.memory.count)) {
    memory_ = -1;
  }
  if (!within(pids_, "pids.max", std::uint64_t{limits.pids} + kOwnProcesses)) {
    pids_ = -1;
  }
  // The quota for the usual period, which engines use.
  const auto quota = static_cast<std::uint64_t>(std::llround(limits.cpus * kCpuPeriodUs));
  if (!within(cpu_, v1 ? "cpu.cfs_quota_us" : "cpu.max", std::max<std::uint64_t>(quota, 1000))) {
    cpu_ = -1;
  }
}

Result<void> Cgroup::create_v2(Slot& slot, const Limits& limits) {
  const CgroupHost& host = cgroup_host();
  const int only = GB_TRY(add_branch(slot, host.v2_parent));
  memory_ = host.support.memory ? only : -1;
  pids_ = host.support.pids ? only : -1;
  cpu_ = host.support.cpu ? only : -1;
  io_ = host.support.io ? only : -1;
  cpu_time_ = only;
  return set_limits(limits);
}

Result<void> Cgroup::set_limits(const Limits& limits) {
  const std::string memory =
      std::to_string(limits.memory.count + (kernel_ ? kernel_->memory.count : 0));
  const std::string pids =
      std::to_string(kernel_ ? kernel_->most_threads : limits.pids + kOwnProcesses);
  if (mode_ == CgroupMode::kV1) {
    // With swap accounting the sum of both is limited too; it may never be below the memory alone,
    // so which of the two to write first depends on the direction.
    if (!write(memory_, "memory.limit_in_bytes", memory)) {
      (void)write(memory_, "memory.memsw.limit_in_bytes", memory);
      GB_TRY(write(memory_, "memory.limit_in_bytes", memory));
    }
    (void)write(memory_, "memory.memsw.limit_in_bytes", memory);
    // The buffers of sockets have a count of their own, which v2 adds to the memory. Absent where
    // the kernel has no network.
    (void)write(memory_, "memory.kmem.tcp.limit_in_bytes", memory);
    GB_TRY(write(pids_, "pids.max", pids));
    if (cpu_ >= 0) {
      GB_TRY(write(cpu_, "cpu.cfs_quota_us", cpu_quota_us(limits.cpus)));
    }
  } else if (mode_ == CgroupMode::kV2) {
    if (memory_ >= 0) {
      GB_TRY(write(memory_, "memory.max", memory));
      (void)write(memory_, "memory.swap.max", "0");
    }
    if (pids_ >= 0) {
      GB_TRY(write(pids_, "pids.max", pids));
    }
    if (cpu_ >= 0) {
      GB_TRY(
          write(cpu_, "cpu.max", cpu_quota_us(limits.cpus) + " " + std::to_string(kCpuPeriodUs)));
    }
  }
  return limits.io_rate.count > 0 ? limit_io(limits.io_rate) : Result<void>();
}

Result<void> Cgroup::change_limits(const Limits& limits) {
  GB_TRY(set_limits(limits));
  if (mode_ == CgroupMode::kV1) {
    (void)write(memory_, "memory.max_usage_in_bytes", "0");
  }
  return {};
}

Result<void> Cgroup::limit_io(Bytes rate) {
  io_limited_ = false;
  if (io_ < 0) {
    return {};
  }
  const std::string bytes = std::to_string(rate.count);
  for (const std::string& device : block_devices()) {
    if (mode_ == CgroupMode::kV2) {
      GB_TRY(write(io_, "io.max", device + " rbps=" + bytes + " wbps=" + bytes));
    } else {
      GB_TRY(write(io_, "blkio.throttle.read_bps_device", device + " " + bytes));
      GB_TRY(write(io_, "blkio.throttle.write_bps_device", device + " " + bytes));
    }
    io_limited_ = true;
  }
  return {};
}

Result<void> Cgroup::write(int branch, const char* file, std::string_view value) const {
  const Branch& in = branches_[static_cast<std::size_t>(branch)];
  const UniqueFd fd(::openat(in.directory.get(), file, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) < 0) {
    return Error::from_errno("write " + std::string(value) + " to " + in.path + "/" + file);
  }
  return {};
}

UniqueFd Cgroup::open_in(int branch, const char* file) const {
  return UniqueFd(::openat(branches_[static_cast<std::size_t>(branch)].directory.get(), file,
                           O_RDONLY | O_CLOEXEC));
}

void Cgroup::hold(int branch, const char* file) {
  if (UniqueFd opened = branch >= 0 ? open_in(branch, file) : UniqueFd(); opened) {
    held_.push_back({branch, file, std::move(opened)});
  }
}

void Cgroup::hold_counters() {
  const Counters& files = counters(mode_);
  hold(cpu_time_, files.cpu);
  hold(memory_, files.memory_peak);
  hold(memory_, files.oom_kills);
  hold(guests_pids(), kPidsPeak);
  hold(guests_pids(), kPidsEvents);
}

std::optional<std::string> Cgroup::read(int branch, const char* file) const {
  if (branch < 0) {
    return std::nullopt;
  }
  const auto held = std::ranges::find_if(
      held_, [&](const Held& each) { return each.branch == branch && each.file == file; });
  const UniqueFd opened = held == held_.end() ? open_in(branch, file) : UniqueFd();
  const int fd = held == held_.end() ? opened.get() : held->open.get();
  std::array<char, 4096> text;
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  if (size < 0) {
    return std::nullopt;
  }
  return std::string(text.data(), static_cast<std::size_t>(size));
}

std::optional<std::uint64_t> Cgroup::read_number(int branch, const char* file) const {
  const auto text = read(branch, file);
  std::uint64_t value = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc{}) {
    return std::nullopt;
  }
  return value;
}

std::uint64_t Cgroup::read_keyed(int branch, const char* file, std::string_view key) const {
  const auto text = read(branch, file);
  if (!text) {
    return 0;
  }
  return keyed_value(*text, key);
}

int Cgroup::directory_fd() const {
  return mode_ == CgroupMode::kV2 ? branches_.front().directory.get() : -1;
}

std::optional<std::chrono::microseconds> Cgroup::cpu_time() const {
  if (cpu_time_ < 0) {
    return std::nullopt;
  }
  if (mode_ == CgroupMode::kV2) {
    return std::chrono::microseconds(read_keyed(cpu_time_, kCountersV2.cpu, "usage_usec"));
  }
  const auto nanoseconds = read_number(cpu_time_, kCountersV1.cpu);
  return nanoseconds ? std::optional(std::chrono::microseconds(*nanoseconds / 1000)) : std::nullopt;
}

std::optional<Bytes> Cgroup::memory_peak() const {
  const auto peak = read_number(memory_, counters(mode_).memory_peak);
  return peak ? std::optional(Bytes{*peak}) : std::nullopt;
}

std::optional<Bytes> Cgroup::memory_now() const {
  const auto now = read_number(memory_, counters(mode_).memory_now);
  return now ? std::optional(Bytes{*now}) : std::nullopt;
}

// Both end when nothing more can be reclaimed (Documentation/admin-guide/cgroup-v2.rst,
// memory.reclaim, Linux 5.19; cgroup-v1/memory.rst, memory.force_empty). In pieces, so that a group
// of many gigabytes on a slow disk does not hold up the caller.
void Cgroup::reclaim() const {
  if (memory_ < 0) {
    return;
  }
  constexpr auto kMostTime = std::chrono::seconds(1);
  constexpr std::uint64_t kPiece = 64ULL << 20;
  if (mode_ == CgroupMode::kV1) {
    (void)write(memory_, "memory.force_empty", "0");
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + kMostTime;
  while (std::chrono::steady_clock::now() < deadline) {
    const std::uint64_t now = memory_now().value_or(Bytes{0}).count;
    if (now == 0 || !write(memory_, "memory.reclaim", std::to_string(std::min(now, kPiece)))) {
      return;
    }
  }
}

std::optional<std::uint64_t> Cgroup::pids_peak() const {
  const auto peak = read_number(guests_pids(), kPidsPeak);
  return peak && *peak >= kOwnProcesses ? std::optional(*peak - kOwnProcesses) : std::nullopt;
}

std::optional<std::uint64_t> Cgroup::pids_now() const {
  const auto now = read_number(guests_pids(), "pids.current");
  return now && *now >= kOwnProcesses ? std::optional(*now - kOwnProcesses) : std::nullopt;
}

std::uint64_t Cgroup::oom_kills() const {
  return read_keyed(memory_, counters(mode_).oom_kills, "oom_kill");
}

std::uint64_t Cgroup::pids_refusals() const {
  return read_keyed(guests_pids(), kPidsEvents, "max");
}

std::vector<pid_t> Cgroup::members() const {
  return branches_.empty() ? std::vector<pid_t>() : listed(branches_.front().directory.get());
}

void Cgroup::kill() const {
  if (mode_ == CgroupMode::kV2) {
    (void)write(0, "cgroup.kill", "1");
  } else if (!branches_.empty()) {
    (void)kill_listed(branches_.front().directory.get());
  }
}

Result<void> Cgroup::remove() {
  std::optional<Error> failure;
  for (Branch& branch : branches_) {
    if (auto removed = ours_ ? remove_directory(branch.path) : Result<void>();
        !removed && !failure) {
      failure = std::move(removed).error();
    }
  }
  branches_.clear();
  held_.clear();
  memory_ = pids_ = cpu_ = cpu_time_ = io_ = -1;
  mode_ = CgroupMode::kNone;
  return failure ? Result<void>(*std::move(failure)) : Result<void>();
}

Cgroup::~Cgroup() { (void)remove(); }

void Cgroup::describe(WireWriter& to) const {
  to.u8(static_cast<std::uint8_t>(mode_));
  for (const int index : {memory_, pids_, cpu_, cpu_time_, io_}) {
    to.u8(static_cast<std::uint8_t>(index + 1));
  }
  to.u8(io_limited_ ? 1 : 0);
  std::vector<std::string> paths;
  for (const Branch& branch : branches_) {
    paths.push_back(branch.path);
  }
  to.texts(paths);
}

std::vector<int> Cgroup::directories() const {
  std::vector<int> open;
  for (const Branch& branch : branches_) {
    open.push_back(branch.directory.get());
  }
  return open;
}

Result<Cgroup> Cgroup::described(WireReader& from, std::vector<UniqueFd> directories) {
  Cgroup group;
  group.ours_ = false;
  const std::uint8_t mode = from.u8();
  group.mode_ = static_cast<CgroupMode>(mode);
  bool fits = mode <= static_cast<std::uint8_t>(CgroupMode::kV2);
  for (int* const index :
       {&group.memory_, &group.pids_, &group.cpu_, &group.cpu_time_, &group.io_}) {
    *index = from.u8() - 1;
    fits = fits && *index < static_cast<int>(directories.size());
  }
  group.io_limited_ = from.u8() != 0;
  const std::vector<std::string> paths = from.texts(directories.size());
  if (!from.ok() || !fits || paths.size() != directories.size() ||
      (group.mode_ == CgroupMode::kNone) != paths.empty()) {
    return Error(ErrorCode::kInvalid, "malformed cgroup description");
  }
  for (std::size_t branch = 0; branch < paths.size(); ++branch) {
    group.branches_.push_back({paths[branch], std::move(directories[branch])});
  }
  return group;
}

std::vector<pid_t> Cgroup::listed(int directory) {
  std::vector<pid_t> pids;
  const UniqueFd list(::openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC));
  std::array<char, 8192> text{};
  const ssize_t size = list ? ::read(list.get(), text.data(), text.size()) : 0;
  const char* at = text.data();
  const char* const end = at + std::max<ssize_t>(size, 0);
  while (at < end) {
    pid_t pid = 0;
    const auto [next, failure] = std::from_chars(at, end, pid);
    if (failure == std::errc{} && pid > 1) {
      pids.push_back(pid);
    }
    at = next + 1;
  }
  return pids;
}

std::uint32_t Cgroup::kill_listed(int directory) {
  std::uint32_t killed = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<pid_t, UniqueFd>> members;
    for (const pid_t pid : listed(directory)) {
      members.emplace_back(pid, UniqueFd(static_cast<int>(sys::raw(SYS_pidfd_open, pid, 0))));
    }
    if (members.empty()) {
      break;
    }
    // A number that was read may be another process's by the time it is used. If it is still
    // listed, it was a member's when it was opened, or has become one's.
    const std::vector<pid_t> still = listed(directory);
    for (const auto& [pid, pidfd] : members) {
      if (pidfd && std::ranges::find(still, pid) != still.end()) {
        (void)sys::raw(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
        ++killed;
      }
    }
    wait_a_moment(round < 10 ? 1 : 5);
  }
  return killed;
}

Result<Cgroup::Leftover> Cgroup::remove_leftover(const std::string& path) {
  Leftover leftover;
  if (!path.starts_with(kCgroupRoot)) {
    return Error(ErrorCode::kInvalid, path + " is not a cgroup");
  }
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) {
    return leftover;
  }
  leftover.existed = true;
  // v2 kills a whole group in one step; v1 has no such file.
  leftover.processes = static_cast<std::uint32_t>(listed(directory.get()).size());
  const UniqueFd kill(::openat(directory.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (!kill || ::write(kill.get(), "1", 1) != 1) {
    leftover.processes = kill_listed(directory.get());
  }
  GB_TRY(remove_directory(path));
  return leftover;
}

}  // namespace glovebox
