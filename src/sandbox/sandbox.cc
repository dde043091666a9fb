// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "base/sys/raw.h"
#include "base/sys/tree.h"
#include "base/wire.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/guest_ids.h"
#include "sandbox/launch.h"
#include "sandbox/machine.h"
#include "sandbox/reported_walls.h"
#include "sandbox/run.h"
#include "sandbox/stream_relay.h"
#include "sandbox/terminal.h"

namespace glovebox {
namespace {

using Clock = WardenLink::Clock;
using namespace std::chrono_literals;

// For the start of a process; a guest cannot delay it.
constexpr auto kStartPatience = 30s;
// Milliseconds to wait after each of two signals to end.
constexpr int kEndPatience = 10'000;

// The number by which our /proc knows the process, which is alive or a zombie of ours.
Result<pid_t> pid_of(int pidfd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd));
  std::string key;
  pid_t pid = 0;
  while (info >> key) {
    if (key == "Pid:" && info >> pid && pid > 0) {
      return pid;
    }
  }
  return Error(ErrorCode::kUnavailable, "the sandbox has ended");
}

// A kernel of its own has such sockets only if its network is filtered.
bool has_sockets_of_host(const Enclosure& enclosure, const Walls& walls) {
  return !enclosure.features.own_kernel || walls.network != "none";
}

}  // namespace

Sandbox::~Sandbox() { (void)end(); }

uid_t Sandbox::helper_uid() const {
  return guest_ids() && enclosure_.slot ? enclosure_.slot->helper_uid() : 0;
}

Result<RunOutcome> Sandbox::run(const Command& command, const RunOptions& options) {
  return Run(*this, options).execute(command);
}

Result<Command> Sandbox::runnable(const Command& command, const RunOptions& options) const {
  return enclosure_.runner ? enclosure_.runner->command_for(command, options.limits)
                           : Result<Command>(command);
}

Result<std::unique_ptr<GuestProcess>> Sandbox::start_detached(
    const Command& command, const RunOptions& options, const std::array<int, 3>& descriptors) {
  if (enclosure_.runner && !options.acts_for_clients) {
    return Error(ErrorCode::kUnsupported, "the " + tier_ + " tier runs no programs of this machine",
                 "use the native tier");
  }
  warden::StartRequest request = Run::make_request(*this, command, options);
  // An agent's program is at the same path in every tier: its arguments are our own paths.
  request.argv = command.argv;
  request.streams = warden::Streams::kAgent;
  return start_beside(std::move(request), descriptors);
}

Result<std::unique_ptr<GuestProcess>> Sandbox::start_process(
    const Command& command, const RunOptions& options, const std::array<int, 3>& descriptors) {
  const Command started = GB_TRY(runnable(command, options));
  warden::StartRequest request = Run::make_request(*this, started, options);
  request.streams = warden::Streams::kProcess;
  return start_beside(std::move(request), descriptors);
}

Result<std::unique_ptr<GuestProcess>> Sandbox::start_in_terminal(const Command& command,
                                                                 const RunOptions& options,
                                                                 warden::TerminalSize size) {
  const Command started = GB_TRY(runnable(command, options));
  warden::StartRequest request = Run::make_request(*this, started, options);
  request.streams = warden::Streams::kTerminal;
  request.terminal = size;
  TerminalEnds ends = GB_TRY(relay_ ? connect_terminal() : open_terminal(size));
  auto process = GB_TRY(start_beside(std::move(request), std::array<int, 1>{ends.theirs.get()}));
  process->hold_terminal(std::move(ends.ours));
  return process;
}

Result<std::unique_ptr<GuestProcess>> Sandbox::start_beside(warden::StartRequest request,
                                                            std::span<const int> passed) {
  request.alone = false;
  request.deadline_ms = 0;
  request.relayed = relay_ != nullptr;
  const std::string bytes = request.encode();
  if (bytes.size() > kMaxFramePayload) {
    return Error(ErrorCode::kInvalid, "arguments and environment exceed 1 MiB",
                 "pass large input as a file or on standard input");
  }
  used_ = true;
  auto channel = std::make_unique<WardenLink::Channel>(link_);
  channel->send(warden::Request::kStart, bytes, relay_ ? std::span<const int>() : passed);
  const Frame frame = GB_TRY(channel->receive(Clock::now() + kStartPatience));
  if (static_cast<warden::Reply>(frame.type) == warden::Reply::kStarted) {
    WireReader reader(frame.payload);
    const std::uint32_t pid = reader.u32();
    if (relay_) {
      channel = GB_TRY(relay_->add(std::move(channel), request.streams, passed));
    }
    return std::make_unique<GuestProcess>(std::move(channel), pid, relay_ != nullptr);
  }
  const auto ended = GB_TRY(warden::EndedReport::decode(frame.payload));
  return Error::from_errno("start " + request.argv.front(), ended.start_error);
}

void Sandbox::signal_everything(int signal) {
  const warden::SignalRequest request{.signal = static_cast<std::uint32_t>(signal),
                                      .everything = true};
  link_.send(warden::Request::kSignal, 0, request.encode());
}

void Sandbox::pause() {
  clock_.stop();
  signal_everything(SIGSTOP);
}

void Sandbox::resume() {
  signal_everything(SIGCONT);
  clock_.go_on();
}

int Sandbox::events_fd() const { return relay_ ? relay_->lost_fd() : link_.fd(); }

bool Sandbox::hear() {
  link_.hear();
  return !link_.lost();
}

Environment Sandbox::environment() const {
  Environment all = base_environment();
  const Environment machine = machine_environment(limits_);
  all.insert(all.end(), machine.begin(), machine.end());
  for (const auto& [name, value] : env_) {
    std::erase_if(all, [&name](const auto& known) { return known.first == name; });
    all.emplace_back(name, value);
  }
  return all;
}

Result<Realm> Sandbox::realm() const {
  const pid_t pid = GB_TRY(pid_of(enclosure_.pidfd.get()));
  const auto open_namespace = [pid](const char* name) {
    const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + name;
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  };
  Realm realm{.user_ns = open_namespace("user"),
              .pid_ns = open_namespace("pid"),
              .uid = guest_ids() ? enclosure_.slot->host_uid() : ::geteuid()};
  if (!realm.user_ns || !realm.pid_ns) {
    return Error::from_errno("open the namespaces of a realm");
  }
  return realm;
}

GuestPlace Sandbox::place() const {
  return {.cgroup = enclosure_.cgroup,
          .warden_pidfd = enclosure_.pidfd.get(),
          .own_pids = enclosure_.features.own_pids};
}

std::vector<GuestSeen> Sandbox::seen_processes() const {
  return enclosure_.pidfd && !enclosure_.features.own_kernel ? guests_in(place())
                                                             : std::vector<GuestSeen>();
}

Result<void> Sandbox::end_others(const std::vector<GuestSeen>& kept) {
  return enclosure_.pidfd && !enclosure_.features.own_kernel ? end_guests_but(kept, place())
                                                             : Result<void>();
}

Result<void> Sandbox::set_limits(const Limits& limits) {
  GB_TRY(validate(limits));
  GB_TRY(enclosure_.carrier ? enclosure_.carrier->change_limits(limits)
                            : enclosure_.cgroup.change_limits(limits));
  limits_ = limits;
  if (enclosure_.features.own_root) {
    link_.send(warden::Request::kMachine, 0, machine_request(limits));
  }
  return {};
}

bool Sandbox::alive() const {
  pollfd warden{enclosure_.pidfd.get(), POLLIN, 0};
  return !dead_ && !link_.lost() && ::poll(&warden, 1, 0) == 0;
}

void Sandbox::kill() {
  dead_ = true;
  if (enclosure_.features.own_pids && enclosure_.pidfd &&
      sys::raw(SYS_pidfd_send_signal, enclosure_.pidfd.get(), SIGKILL, nullptr, 0) != -EPERM) {
    return;
  }
  // Without a pid namespace, or a process that we may kill, the warden must kill everything, which
  // it does when its socket closes.
  link_.shut_down();
  enclosure_.cgroup.kill();
}

std::optional<Hoard> Sandbox::end_hoarders() {
  // A kernel of its own has its own locks and sockets, in memory that is limited.
  const bool own_kernel = enclosure_.features.own_kernel;
  if (!enclosure_.pidfd || (own_kernel && !has_sockets_of_host(enclosure_, walls_))) {
    return std::nullopt;
  }
  const auto ended =
      hoards_.end_hoarders(place(), watches_memory() && !own_kernel ? limits_.memory.count : 0);
  if (ended && own_kernel) {
    kill();  // The kernel process holds the sockets, not the guests that it holds them for.
  }
  return ended;
}

bool Sandbox::watches_memory() const { return glovebox::watches_memory(enclosure_); }

Result<void> Sandbox::end() {
  if (ended_) {
    return {};
  }
  ended_ = true;
  if (lease_) {
    dead_ = true;
    link_.close();
    slot_lock_.reset();
    lease_.reset();
    return {};
  }
  kill();
  pollfd gone{enclosure_.pidfd.get(), POLLIN, 0};
  bool dead = !enclosure_.pidfd || ::poll(&gone, 1, kEndPatience) != 0;
  if (!dead) {
    (void)sys::raw(SYS_pidfd_send_signal, enclosure_.pidfd.get(), SIGKILL, nullptr, 0);
    dead = ::poll(&gone, 1, kEndPatience) != 0;
  }
  if (enclosure_.pidfd) {
    siginfo_t info{};
    // Ours by pidfd, so that no recycled pid is ever waited for.
    (void)::waitid(P_PIDFD, static_cast<id_t>(enclosure_.pidfd.get()), &info, WEXITED | WNOHANG);
  }
  if (dead) {
    enclosure_.held.reset();
  }
  relay_.reset();
  link_.close();
  auto removed = enclosure_.cgroup.remove();
  if (enclosure_.carrier) {
    removed = enclosure_.carrier->remove();
    dead = dead || removed.has_value();
  }
  if (!enclosure_.tree.empty()) {
    if (auto cleared = sys::remove_tree(enclosure_.tree); !cleared) {
      removed = std::move(cleared);
    }
  }
  if (!dead) {
    return Error(ErrorCode::kUnavailable, "the first process of the sandbox does not end",
                 "run 'ps -o stat,wchan' to see what the kernel is waiting for");
  }
  return removed;
}

std::vector<LimitReport> Sandbox::limit_reports(const Limits& limits) const {
  const auto seconds = [](std::chrono::milliseconds time) {
    return static_cast<double>(time.count()) / 1000;
  };
  const auto number = [](auto value) { return static_cast<double>(value); };
  const Cgroup& cgroup = enclosure_.cgroup;
  const TierFeatures& features = enclosure_.features;
  std::vector<LimitReport> reports = {
      {"time", seconds(limits.wall), true, false},
      {"memory", number(limits.memory.count), cgroup.limits_memory() || watches_memory(), false},
      {"cpus", limits.cpus, cgroup.limits_cpus() || limits.cpus >= cgroup_host().processors, false},
      {"pids", number(limits.pids), features.limits_pids, false},
      {"disk", number(limits.disk.count), features.limits_disk, false},
      {"inodes", number(limits.inodes), features.limits_inodes, false},
      {"open_files", number(open_files_here(limits)), true, false},
      {"output", number(limits.output.count), true, false},
  };
  if (!features.own_kernel) {
    reports.push_back(
        {std::string(limit_of(Hoard::kLocks)), number(HoardWatch::kMostLocks), true, false});
  }
  if (has_sockets_of_host(enclosure_, walls_)) {
    reports.push_back(
        {std::string(limit_of(Hoard::kSockets)), number(HoardWatch::kMostQueued), true, false});
  }
  if (limits.cpu_time.count() > 0) {
    // RLIMIT_CPU alone bounds each process, not all of them together.
    reports.push_back({"cpu_time", seconds(limits.cpu_time), cgroup.counts_cpu_time(), false});
  }
  if (limits.io_rate.count > 0) {
    reports.push_back({"io_rate", number(limits.io_rate.count), cgroup.limits_io(), false});
  }
  return reports;
}

}  // namespace glovebox
