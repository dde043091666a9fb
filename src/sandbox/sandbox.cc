// SPDX-License-Identifier: Apache-2.0
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include "base/sys/raw.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "base/wire.h"
#include "sandbox/call_watch.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/child/plan.h"
#include "sandbox/git_excludes.h"
#include "sandbox/guest_ids.h"
#include "sandbox/launch.h"
#include "sandbox/machine.h"
#include "sandbox/reported_walls.h"
#include "sandbox/run.h"
#include "sandbox/stopwatch.h"
#include "sandbox/stream_relay.h"
#include "sandbox/terminal.h"

namespace glovebox {
namespace {

using Clock = WardenLink::Clock;
using namespace std::chrono_literals;

// For what the warden does at once unless the machine is starved; a guest cannot delay it.
constexpr auto kPatience = 30s;
// For what copies files; the warden gives up before this.
constexpr auto kCopyPatience = 120s;
// Of each of two signals to end; milliseconds.
constexpr int kEndPatience = 10'000;

std::string random_id() {
  std::array<unsigned char, 12> bytes{};
  (void)sys::raw(SYS_getrandom, bytes.data(), bytes.size(), 0);
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuv";
  std::string id;
  for (const unsigned char byte : bytes) {
    id.push_back(kLetters[byte % kLetters.size()]);
  }
  return id;
}

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

Error not_deterministic(const Tier& tier) {
  return {ErrorCode::kUnsupported, "the " + std::string(tier.name()) + " tier is not deterministic",
          "use --tier wasm"};
}

Error setup_error(const warden::SetupReport& report) {
  const auto step = static_cast<child::SetupStep>(report.failed_step);
  const std::string attempt = "set up the sandbox: step " +
                              std::string(child::setup_step_name(step)) + ", part " +
                              std::to_string(report.detail);
  const bool forbidden = report.error == EPERM || report.error == EACCES ||
                         report.error == ENOSYS || report.error == EINVAL || report.error == ENODEV;
  const Error error = Error::from_errno(attempt, report.error);
  return {forbidden ? ErrorCode::kUnsupported : error.code(), error.message(),
          std::string(kAskDoctor)};
}

}  // namespace

Sandbox::Sandbox(Enclosure enclosure, std::string_view tier, const SandboxSpec& spec)
    : enclosure_(std::move(enclosure)),
      link_(std::move(enclosure_.control)),
      id_(spec.id.empty() ? random_id() : spec.id),
      tier_(tier),
      env_(spec.as_root ? root_environment() : Environment{}),
      limits_(spec.limits),
      write_rules_(spec.rules.write),
      read_rules_(spec.rules.read),
      timings_(std::move(enclosure_.timings)),
      notes_(std::move(enclosure_.notes)) {
  env_.insert(env_.end(), spec.env.begin(), spec.env.end());
  // The start of a kernel has used processor time.
  used_ = enclosure_.features.own_kernel;
  walls_.user = spec.as_root ? "root" : "user";
  walls_.exec = spec.rules.exec.empty() ? "any" : "rules";
  drop_what_takes_mounts(write_rules_, "written");
  drop_what_takes_mounts(read_rules_, "read");
  walls_.write = write_rules_.empty() ? "any" : "rules";
  walls_.read = read_rules_.empty() ? "any" : "rules";
  if (std::ranges::any_of(write_rules_.closed, [](const std::string& place) {
        return place.starts_with(".git/hooks/");
      })) {
    // 'git init' copies examples of hooks, and gives up where it cannot.
    env_.insert(env_.begin(), {"GIT_TEMPLATE_DIR", ""});
  }
  if (!read_rules_.closed.empty()) {
    const Environment git = git_excludes_environment();
    env_.insert(env_.begin(), git.begin(), git.end());
  }
  if (spec.relay) {
    enclosure_.features.passes_descriptors = false;
    enclosure_.features.returns_descriptors = false;
  }
}

void Sandbox::drop_what_takes_mounts(PlaceRules& rules, std::string_view done) {
  if (!rules.closed.empty() && !enclosure_.features.own_root) {
    notes_.push_back("the " + tier_ + " tier has no mounts: '" + rules.closed.front() +
                     "' and what else the policy refuses can be " + std::string(done));
    rules.closed.clear();
  }
}

Result<std::unique_ptr<Sandbox>> Sandbox::create(const SandboxSpec& spec, const TierWish& wish) {
  GB_TRY(validate(spec.limits));
  const std::vector<Tier*> tiers = GB_TRY(candidate_tiers(wish));
  std::vector<std::string> notes;
  std::optional<Error> first;
  for (Tier* const tier : tiers) {
    auto enclosure = spec.deterministic && !tier->traits().is_deterministic
                         ? Result<Enclosure>(not_deterministic(*tier))
                         : tier->enclose(spec);
    std::optional<Error> error;
    if (enclosure) {
      std::unique_ptr<Sandbox> sandbox(
          new Sandbox(std::move(enclosure).value(), tier->name(), spec));
      // What guests ask of a machine or a runner of ours, those answer.
      if (!sandbox->enclosure_.features.own_kernel && !sandbox->enclosure_.runner) {
        name_watched(sandbox->id_, sandbox->enclosure_.pidfd.get());
      }
      auto stands = sandbox->await_walls();
      if (!stands) {
        stands = sandbox->with_complaints(std::move(stands).error());
      }
      if (stands && !sandbox->features().passes_descriptors) {
        stands = sandbox->relay_streams();
      }
      if (stands && spec.egress_port != 0) {
        sandbox->walls_.network = "rules";
        if (!sandbox->enclosure_.way_out.listener) {
          stands = Error(ErrorCode::kUnavailable, "the sandbox passed no socket to listen on");
        }
      }
      if (stands) {
        sandbox->notes_.insert(sandbox->notes_.begin(), notes.begin(), notes.end());
        return sandbox;
      }
      (void)sandbox->end();
      error = std::move(stands).error();
    } else {
      error = std::move(enclosure).error();
    }
    if (error->code() != ErrorCode::kUnsupported) {
      return *std::move(error);
    }
    notes.push_back("tier " + std::string(tier->name()) +
                    " could not be used: " + error->message());
    // What the tier lacks that is tried first is what most people can mend.
    if (!first) {
      first = std::move(error);
    }
  }
  if (!first) {
    return Error(ErrorCode::kUnsupported, "no isolation tier is available");
  }
  return *std::move(first);
}

Sandbox::~Sandbox() { (void)end(); }

uid_t Sandbox::helper_uid() const {
  return guest_ids() && enclosure_.slot ? enclosure_.slot->helper_uid() : 0;
}

Error Sandbox::with_complaints(Error error) const {
  std::array<char, 4096> bytes;
  const ssize_t got =
      enclosure_.complaints ? ::read(enclosure_.complaints.get(), bytes.data(), bytes.size()) : 0;
  std::string_view said(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (said.ends_with('\n')) {
    said.remove_suffix(1);
  }
  if (said.empty()) {
    return error;
  }
  // Its last word: what comes before are warnings.
  const std::string last = printable(said.substr(said.rfind('\n') + 1));
  return {ErrorCode::kUnsupported, "set up the sandbox: " + last, std::string(kAskDoctor)};
}

Result<void> Sandbox::relay_streams() {
  relay_ = GB_TRY(StreamRelay::start(link_));
  return {};
}

Result<void> Sandbox::await_walls() {
  Stopwatch watch;
  const auto deadline = Clock::now() + kPatience;
  WardenLink::Channel channel(link_, 0);
  warden::SetupReport setup;
  for (;;) {
    const Frame frame = GB_TRY(channel.receive(deadline));
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kSetup) {
      setup = GB_TRY(warden::SetupReport::decode(frame.payload));
      if (setup.failed_step != 0) {
        return setup_error(setup);
      }
      for (std::size_t step = 1; step + 1 < setup.step_us.size() && step < child::kSetupSteps;
           ++step) {
        timings_.push_back(
            {std::string(child::setup_step_name(static_cast<child::SetupStep>(step))),
             std::chrono::microseconds(setup.step_us[step])});
      }
      watch.lap("walls");
      continue;
    }
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kProcesses) {
      residents_ = GB_TRY(warden::ProcessesReport::decode(frame.payload)).processes;
      continue;
    }
    if (static_cast<warden::Reply>(frame.type) == warden::Reply::kDone) {
      const auto report = GB_TRY(warden::DoneReport::decode(frame.payload));
      return Error(ErrorCode::kUnsupported, "set up the sandbox: " + printable(report.error),
                   std::string(kAskDoctor));
    }
    if (static_cast<warden::Reply>(frame.type) != warden::Reply::kReady) {
      return Error(ErrorCode::kInternal, "the warden started with a frame of the wrong type");
    }
    const auto ready = GB_TRY(warden::ReadyReport::decode(frame.payload));
    enclosure_.setup.reset();
    GB_TRY(read_walls(ready, enclosure_, walls_));
    watch.lap("warden");
    const std::vector<Timing> laps = watch.laps();
    timings_.insert(timings_.end(), laps.begin(), laps.end());
    std::ranges::move(notes_on_walls(ready, enclosure_, walls_), std::back_inserter(notes_));
    return {};
  }
}

template <typename Take>
auto Sandbox::ask(warden::Request request,
                  std::string_view payload,
                  warden::Reply type,
                  std::chrono::seconds patience,
                  const Take& take) -> decltype(take(std::string_view())) {
  WardenLink::Channel channel(link_);
  channel.send(request, payload);
  const auto deadline = Clock::now() + patience;
  for (;;) {
    const Frame frame = GB_TRY(channel.receive(deadline));
    if (static_cast<warden::Reply>(frame.type) == type) {
      return take(frame.payload);
    }
  }
}

Result<void> Sandbox::ask_done(warden::Request request,
                               std::string_view payload,
                               std::chrono::seconds patience) {
  return ask(request, payload, warden::Reply::kDone, patience, &done_or_error);
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
  // An agent's program lies where it does, in any tier: its arguments are our own paths.
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
  const Frame frame = GB_TRY(channel->receive(Clock::now() + kPatience));
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

Result<Sandbox::DiskUse> Sandbox::disk_use() {
  const auto report = GB_TRY(ask(warden::Request::kDisk, {}, warden::Reply::kEnded, kPatience,
                                 &warden::EndedReport::decode));
  return DiskUse{.bytes = Bytes{report.disk_used}, .inodes = report.inodes_used};
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

Result<void> Sandbox::write_file(std::string_view path,
                                 std::string_view bytes,
                                 std::uint32_t mode) {
  // One frame holds the path as well; what does not fit would go by unpack().
  constexpr std::size_t kMost = kMaxFramePayload - 8192;
  if (bytes.size() > kMost) {
    return Error(ErrorCode::kInvalid, std::string(path) + " is too large to write at once");
  }
  const warden::WriteRequest request{.path = std::string(path), .mode = mode, .bytes = bytes};
  auto done = ask_done(warden::Request::kWrite, request.encode(), kPatience);
  return done ? Result<void>() : std::move(done).error().within("copy in " + std::string(path));
}

Result<void> Sandbox::unpack(std::string_view directory, int archive_fd) {
  RunOptions options{.limits = limits_, .stdin_fd = archive_fd, .kill_rest = false};
  options.limits.wall = 1h;
  Run run(*this, options);
  const RunOutcome outcome = GB_TRY(run.task(warden::Request::kUnpack, directory));
  if (outcome.status != Status::kOk) {
    std::string message = outcome.err.bytes;
    while (message.ends_with('\n')) {
      message.pop_back();
    }
    return Error(ErrorCode::kInvalid,
                 message.empty() ? "the archive could not be unpacked" : message)
        .with_os_error(outcome.status == Status::kDiskFull ? ENOSPC : 0);
  }
  return {};
}

Result<void> Sandbox::pack_changes(Bytes max,
                                   const std::function<Result<void>(std::string_view)>& sink) {
  Result<void> kept;
  RunOptions options{.limits = limits_, .kill_rest = false};
  options.limits.wall = 1h;
  options.limits.output = Bytes{0};
  options.observer.out = [&](std::string_view bytes) {
    if (kept) {
      kept = sink(bytes);
    }
  };
  Run run(*this, options);
  const warden::PackRequest request{.changed_only = true, .max_bytes = max.count, .path = {}};
  const RunOutcome outcome = GB_TRY(run.task(warden::Request::kPack, request.encode()));
  if (kept && outcome.status != Status::kOk) {
    return Error(ErrorCode::kUnavailable, "the changed files could not be packed");
  }
  return kept;
}

Result<void> Sandbox::mark() { return ask_done(warden::Request::kMark, {}, kPatience); }

Result<Sandbox::Changes> Sandbox::changed_files() {
  auto report = GB_TRY(ask(warden::Request::kChanges, {}, warden::Reply::kFiles, kPatience,
                           &warden::FilesReport::decode));
  return Changes{.files = std::move(report.files), .truncated = report.truncated};
}

Result<void> Sandbox::snapshot(std::uint32_t id, bool thorough) {
  auto done =
      ask_done(warden::Request::kSnapshot,
               warden::SnapshotRequest{.id = id, .thorough = thorough}.encode(), kCopyPatience);
  return done ? Result<void>() : std::move(done).error().within("take a snapshot of the files");
}

Result<void> Sandbox::restore(std::uint32_t id, bool thorough) {
  auto done =
      ask_done(warden::Request::kRestore,
               warden::SnapshotRequest{.id = id, .thorough = thorough}.encode(), kCopyPatience);
  return done ? Result<void>() : std::move(done).error().within("restore the files");
}

Result<void> Sandbox::drop_snapshot(std::uint32_t id) {
  return ask_done(warden::Request::kDropSnapshot, warden::SnapshotRequest{.id = id}.encode(),
                  kCopyPatience);
}

Result<Sandbox::Differences> Sandbox::compare(std::uint32_t snapshot) {
  auto report =
      GB_TRY(ask(warden::Request::kCompare, warden::SnapshotRequest{.id = snapshot}.encode(),
                 warden::Reply::kDifferences, kPatience, &warden::DifferencesReport::decode));
  return Differences{.files = std::move(report.files), .truncated = report.truncated};
}

Result<std::optional<std::string>> Sandbox::read_version(std::uint32_t snapshot,
                                                         const std::string& path,
                                                         Version version,
                                                         std::size_t max) {
  const warden::VersionRequest request{
      .snapshot = snapshot,
      .now = version == Version::kNow,
      .max_bytes = static_cast<std::uint32_t>(std::min(max, warden::kMaxVersion)),
      .path = path};
  auto report = GB_TRY(ask(warden::Request::kReadVersion, request.encode(), warden::Reply::kContent,
                           kPatience, &warden::ContentReport::decode));
  return report.known ? std::optional(std::move(report.bytes)) : std::nullopt;
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
  // Without a pid namespace, or a process that is ours to be killed, the warden must do it, which
  // it does when its socket closes.
  link_.shut_down();
  enclosure_.cgroup.kill();
}

std::optional<Hoard> Sandbox::end_hoarders() {
  // A kernel of its own has its own locks and sockets, in memory that is limited.
  if (!enclosure_.pidfd || enclosure_.features.own_kernel) {
    return std::nullopt;
  }
  return hoards_.end_hoarders(place(), watches_memory() ? limits_.memory.count : 0);
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
