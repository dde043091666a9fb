// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/wire.h"
#include "sandbox/cgroup_host.h"
#include "sandbox/guest_ids.h"
#include "sandbox/out_of_memory.h"
#include "sandbox/policy/policy.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// How long a program that was asked to end may clean up.
constexpr milliseconds kCancelGrace = 5s;
// How long the warden may take to kill the guests before we kill all of it.
constexpr milliseconds kGrace = 50ms;
// The warden's own timer backs up ours, in case we are stopped or starved.
constexpr milliseconds kBackstop = 1s;
// Counters are looked at this often; memory's kernel limit does not wait for us.
constexpr microseconds kFirstCheck = 20ms;
constexpr microseconds kSlowestCheck = 100ms;
// If nothing but such a check limits memory.
constexpr microseconds kMemoryCheck = 20ms;
constexpr microseconds kFastestCheck = 2ms;

// The kernel's own limit on processor time goes by samples, which may count a sixth too much for a
// guest that is often preempted: a guest that reached the limit has used most of it. One that has
// used less has sent itself the signal.
constexpr double kNearly = 0.75;

// The process of a sandbox that is ours: the warden.
constexpr std::uint64_t kProcessesOfOurs = 1;

void add_environment(std::vector<std::string>& to, const Environment& from) {
  for (const auto& [name, value] : from) {
    const std::string prefix = name + "=";
    std::erase_if(to, [&prefix](const std::string& known) { return known.starts_with(prefix); });
    to.push_back(prefix + value);
  }
}

// Without its own root the guest's directories are in a tree of the host: the same names below it.
std::string relocated(std::string path, const std::string& tree) {
  if (!tree.empty()) {
    for (const std::string_view top : {kWorkspace, std::string_view("/tmp")}) {
      if (path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/')) {
        return tree + path;
      }
    }
  }
  return path;
}

// kInvalid if a request to start a program does not fit into a frame.
Result<void> check_size(std::string_view request) {
  if (request.size() > kMaxFramePayload) {
    return Error(ErrorCode::kInvalid, "arguments and environment exceed 1 MiB",
                 "pass large input as a file or on standard input");
  }
  return {};
}

}  // namespace

std::uint32_t open_files_here(const Limits& limits) {
  rlimit own{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &own) == 0;
  if (!known) {
    return limits.open_files;
  }
  // The kernel counts descriptors in flight between processes for each user, and a process may send
  // none while its user has more in flight than it may open files (net/core/scm.c; unix(7),
  // ETOOMANYREFS). For an ordinary user the guest is the same user as its caller: half is left to
  // the caller.
  const rlim_t most = guest_ids() ? own.rlim_max : std::min(own.rlim_max, own.rlim_cur / 2);
  return static_cast<std::uint32_t>(std::min<rlim_t>(limits.open_files, most));
}

std::uint64_t most_data(const Limits& limits) { return 2 * limits.memory.count; }

Result<void> done_or_error(std::string_view report) {
  const warden::DoneReport done = GB_TRY(warden::DoneReport::decode(report));
  return done.error.empty() ? Result<void>()
                            : Error(ErrorCode::kInvalid, done.error).with_os_error(done.os_error);
}

Run::Run(Sandbox& sandbox, const RunOptions& options, std::unique_ptr<WardenLink::Channel> waiting)
    : sandbox_(sandbox),
      channel_(waiting ? std::move(waiting) : std::make_unique<WardenLink::Channel>(sandbox.link_)),
      options_(options),
      out_(options.limits.output),
      err_(options.limits.output),
      used_(sandbox, !sandbox.used_.exchange(true)),
      start_(Clock::now()),
      next_check_(start_ + kFirstCheck) {}

warden::StartRequest Run::make_request(const Sandbox& sandbox,
                                       const Command& command,
                                       const RunOptions& options) {
  const Limits& limits = options.limits;
  const TierFeatures& features = sandbox.enclosure_.features;
  const Cgroup& cgroup = sandbox.enclosure_.cgroup;
  const std::string tree = features.own_root ? std::string() : sandbox.enclosure_.tree;
  warden::StartRequest request;
  add_environment(request.env, sandbox.environment());
  add_environment(request.env, command.env);
  for (std::string& variable : request.env) {
    const std::size_t value = variable.find('=') + 1;
    variable = variable.substr(0, value) + relocated(variable.substr(value), tree);
  }
  for (const std::string& argument : command.argv) {
    request.argv.push_back(relocated(argument, tree));
  }
  request.cwd = relocated(command.cwd, tree);
  const PlaceRules& write = sandbox.write_rules_;
  const PlaceRules& read = sandbox.read_rules_;
  const bool closes = !write.closed.empty() || !read.closed.empty();
  if (closes && !request.cwd.starts_with('/')) {
    // By its path: the warden's own directory is in the mount where nothing is closed.
    request.cwd = std::string(kWorkspace) + "/" + request.cwd;
  }
  request.open_files = open_files_here(limits);
  if (limits.cpu_time.count() > 0) {
    request.cpu_seconds = static_cast<std::uint64_t>((limits.cpu_time.count() + 999) / 1000);
  }
  // If the cgroup does not limit it, the rlimit that comes nearest.
  if (!cgroup.limits_pids() && features.limits_pids) {
    // gVisor counts a process for the user that it was born as: not the one that the warden starts.
    request.processes = features.own_kernel ? std::max<std::uint64_t>(limits.pids, 2) - 1
                                            : limits.pids + kProcessesOfOurs;
  }
  if (!cgroup.limits_memory()) {
    request.data_size = most_data(limits);
  }
  if (!features.limits_disk) {
    request.file_size = limits.disk.count;
  }
  request.deadline_ms = static_cast<std::uint64_t>((limits.wall + kBackstop).count());
  const bool is_guest = !options.acts_for_clients;
  request.writes_everywhere = !is_guest || (write.everywhere && !closes);
  request.reads_everywhere = !is_guest || read.everywhere;
  if (write.everywhere && closes) {
    // Still a Landlock domain of its own (landlock(7)): from there, nobody can trace a process that
    // works in that mount, and so reach its directories.
    request.writable.emplace_back("/");
  }
  for (const std::string& place : write.places) {
    request.writable.push_back(relocated(place, tree));
  }
  for (const std::string& place : read.places) {
    request.readable.push_back(relocated(place, tree));
  }
  if (!request.reads_everywhere) {
    request.system = sandbox.enclosure_.system;
  }
  request.with_stdin = options.stdin_fd >= 0;
  request.alone = options.kill_rest;
  if (!options.forks_guests) {
    const Runner* const runner = sandbox.enclosure_.runner.get();
    const bool is_runner = runner != nullptr && !options.acts_for_clients;
    const policy::Filter filter = is_runner                   ? runner->filter()
                                  : options.strict            ? policy::strict_filter()
                                  : sandbox.enclosure_.nested ? policy::Filter()
                                                              : policy::guest_filter();
    request.filter.assign(reinterpret_cast<const char*>(filter.data()), filter.size_bytes());
  }
  return request;
}

Result<RunOutcome> Run::execute(const Command& command) {
  if (command.argv.empty()) {
    return Error(ErrorCode::kInvalid, "no command to run");
  }
  const Command runnable = GB_TRY(sandbox_.runnable(command, options_));
  const warden::StartRequest start = make_request(sandbox_, runnable, options_);
  const std::string request = start.encode();
  GB_TRY(check_size(request));
  file_size_limited_ = start.file_size > 0;
  program_ = command.argv.front();
  stdin_open_ = options_.stdin_fd >= 0;
  channel_->send(warden::Request::kStart, request);
  return follow();
}

Result<std::unique_ptr<WardenLink::Channel>> Run::start_waiting(Sandbox& sandbox,
                                                                const std::string& directory,
                                                                const RunOptions& options,
                                                                milliseconds wait,
                                                                Clock::time_point until) {
  const Runner* const runner = sandbox.enclosure_.runner.get();
  if (runner == nullptr) {
    return Error(ErrorCode::kUnsupported,
                 "the " + std::string(sandbox.tier()) + " tier starts no program ahead");
  }
  warden::StartRequest start =
      make_request(sandbox, runner->waiting_in(directory, options.limits), options);
  start.with_stdin = true;
  start.waits = true;
  start.deadline_ms += static_cast<std::uint64_t>(wait.count());
  auto channel = std::make_unique<WardenLink::Channel>(sandbox.link_);
  channel->send(warden::Request::kStart, start.encode());
  for (;;) {
    const Frame frame = GB_TRY(channel->receive(until));
    const auto reply = static_cast<warden::Reply>(frame.type);
    if (reply == warden::Reply::kStdout && frame.payload.size() == 1) {
      return channel;
    }
    if (reply != warden::Reply::kStarted) {
      return Error(ErrorCode::kUnavailable, "the runner does not wait for a program");
    }
  }
}

Result<RunOutcome> Run::go_on(const Command& command,
                              const warden::WriteRequest& program,
                              std::string_view compiled) {
  const warden::StartRequest start = make_request(sandbox_, command, options_);
  GB_TRY(check_size(start.encode()));
  file_size_limited_ = start.file_size > 0;
  std::string beginning =
      GB_TRY(sandbox_.enclosure_.runner->beginning_of(command, start.env, compiled));
  program_ = program.path;
  return tell(std::move(beginning), program);
}

Result<RunOutcome> Run::compile(const std::string& program) {
  return tell(sandbox_.enclosure_.runner->compiling(program), {});
}

Result<RunOutcome> Run::tell(std::string beginning, const warden::WriteRequest& program) {
  stdin_open_ = options_.stdin_fd >= 0;
  untold_ = std::move(beginning);
  {
    const WardenLink::Together together(sandbox_.link_);
    if (!program.path.empty()) {
      channel_->send(warden::Request::kProgram, program.encode());
    }
    go_on_telling();
    pollfd input{wants_stdin() ? options_.stdin_fd : -1, POLLIN, 0};
    if (::poll(&input, 1, 0) > 0) {
      feed_stdin();
    }
  }
  if (options_.observer.started) {
    options_.observer.started();
  }
  return follow();
}

void Run::go_on_telling() {
  while (told_ < untold_.size() && stdin_window_ > 0) {
    const std::string_view piece = std::string_view(untold_).substr(
        told_, std::min<std::size_t>(stdin_window_, kMaxFramePayload));
    channel_->send(warden::Request::kStdin, piece);
    stdin_window_ -= piece.size();
    told_ += piece.size();
  }
  if (told_ == untold_.size() && !stdin_open_) {
    end_stdin();
  }
}

Result<RunOutcome> Run::task(warden::Request request, std::string_view payload) {
  stdin_open_ = options_.stdin_fd >= 0;
  channel_->send(request, payload);
  if (!stdin_open_) {
    end_stdin();
  }
  return follow();
}

Result<RunOutcome> Run::follow() {
  while (!finished_) {
    wait_for_something();
    if (auto taken = take_frames(); !taken) {
      if (taken.error().code() == ErrorCode::kInvalid) {
        return std::move(taken).error();
      }
      lose_warden();
      break;
    }
    if (!finished_) {
      check_limits();
    }
  }
  if (warden_lost_ && cause_ == Cause::kItself && !used_.ran_out_of_memory()) {
    return Error(ErrorCode::kInternal, "the sandbox ended for an unknown reason");
  }
  return judge();
}

void Run::lose_warden() {
  warden_lost_ = true;
  sandbox_.dead_ = true;
}

bool Run::wants_stdin() const {
  return stdin_open_ && told_ == untold_.size() && stdin_window_ > 0 && cause_ == Cause::kItself;
}

void Run::wait_for_something() {
  const std::array<pollfd, 2> warden = channel_->watch();
  std::array<pollfd, 4> polled = {{
      warden[0],
      warden[1],
      {wants_stdin() ? options_.stdin_fd : -1, POLLIN, 0},
      {cause_ == Cause::kItself ? options_.cancel_fd : -1, POLLIN, 0},
  }};
  Clock::time_point until = std::min({next_check_, force_at_, cancel_at_});
  if (cause_ == Cause::kItself) {
    until = std::min(until, start_ + options_.limits.wall);
  }
  const auto left = std::max(microseconds(0), duration_cast<microseconds>(until - Clock::now()));
  const timespec timeout{.tv_sec = static_cast<time_t>(left.count() / 1'000'000),
                         .tv_nsec = static_cast<long>(left.count() % 1'000'000) * 1000};
  if (::ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0) {
    return;
  }
  if (polled[2].revents != 0) {
    feed_stdin();
  }
  if (polled[3].revents != 0) {
    cancel();
  }
}

void Run::cancel() {
  const int signal = options_.cancel_signal && !asked_to_end_ ? options_.cancel_signal() : 0;
  if (signal == 0) {
    end_it(Cause::kCanceled);
    return;
  }
  asked_to_end_ = true;
  cancel_at_ = Clock::now() + kCancelGrace;
  const warden::SignalRequest request{.signal = static_cast<std::uint32_t>(signal)};
  channel_->send(warden::Request::kSignal, request.encode());
}

void Run::feed_stdin() {
  std::array<char, 16 * 1024> bytes;
  const ssize_t got =
      ::read(options_.stdin_fd, bytes.data(), std::min(bytes.size(), stdin_window_));
  if (got > 0) {
    stdin_window_ -= static_cast<std::size_t>(got);
    channel_->send(warden::Request::kStdin, {bytes.data(), static_cast<std::size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    stdin_open_ = false;
    end_stdin();
  }
}

void Run::end_stdin() {
  channel_->send(warden::Request::kStreamEnd,
                 warden::StreamReport{.stream = warden::Stream::kIn}.encode());
}

// So that the warden sends more. Bytes at the end of the run need no acknowledgement.
void Run::acknowledge(warden::Stream stream, std::size_t& taken, std::size_t more) {
  taken += more;
  if (taken >= warden::kAcknowledged) {
    const warden::StreamReport report{.stream = stream, .bytes = static_cast<std::uint32_t>(taken)};
    channel_->send(warden::Request::kTaken, report.encode());
    taken = 0;
  }
}

Result<void> Run::take_frames() {
  // Bounded, so that a flood of output cannot keep the limits from being checked.
  for (int count = 0; count < 64 && !finished_; ++count) {
    const auto frame = GB_TRY(channel_->poll());
    if (!frame) {
      return {};
    }
    if (first_event_.count() == 0) {
      first_event_ = duration_cast<microseconds>(Clock::now() - start_);
    }
    switch (static_cast<warden::Reply>(frame->type)) {
      case warden::Reply::kStarted:
        if (options_.observer.started) {
          options_.observer.started();
        }
        break;
      case warden::Reply::kStdout:
        if (options_.observer.out) {
          options_.observer.out(frame->payload);
        }
        out_.write(frame->payload);
        acknowledge(warden::Stream::kOut, out_taken_, frame->payload.size());
        break;
      case warden::Reply::kStderr:
        if (options_.observer.err) {
          options_.observer.err(frame->payload);
        }
        err_.write(frame->payload);
        acknowledge(warden::Stream::kErr, err_taken_, frame->payload.size());
        break;
      case warden::Reply::kTaken: {
        const auto report = GB_TRY(warden::StreamReport::decode(frame->payload));
        stdin_window_ = std::min<std::size_t>(warden::kInputWindow, stdin_window_ + report.bytes);
        if (told_ < untold_.size()) {
          go_on_telling();
        }
        break;
      }
      case warden::Reply::kDone:
        if (auto done = done_or_error(frame->payload); !done) {
          return std::move(done).error().within("copy in " + program_);
        }
        break;
      case warden::Reply::kFiles: {
        auto report = GB_TRY(warden::FilesReport::decode(frame->payload));
        changes_ =
            Sandbox::Changes{.files = std::move(report.files), .truncated = report.truncated};
        break;
      }
      case warden::Reply::kEnded:
        ended_ = GB_TRY(warden::EndedReport::decode(frame->payload));
        finished_ = true;
        break;
      default:
        return Error(ErrorCode::kInvalid, "the warden sent a frame of the wrong type");
    }
  }
  return {};
}

void Run::check_limits() {
  const Clock::time_point now = Clock::now();
  if (cause_ != Cause::kItself) {
    if (now >= force_at_) {
      forced_ = true;
      force_at_ = Clock::time_point::max();
      sandbox_.kill();
    }
    return;
  }
  if (now >= start_ + options_.limits.wall) {
    end_it(Cause::kWall);
    return;
  }
  if (now >= cancel_at_) {
    end_it(Cause::kCanceled);
    return;
  }
  if (now < next_check_) {
    return;
  }
  microseconds pause = sandbox_.watches_memory() ? kMemoryCheck : kSlowestCheck;
  if (used_.ran_out_of_memory()) {
    end_it(Cause::kMemory);
    return;
  }
  if (sandbox_.end_hoarders()) {
    end_it(Cause::kHoard);
    return;
  }
  if (options_.limits.cpu_time.count() > 0) {
    const microseconds left = microseconds(options_.limits.cpu_time) - used_.cpu().value_or(0us);
    if (left.count() <= 0) {
      end_it(Cause::kCpu);
      return;
    }
    const auto processors = static_cast<std::int64_t>(cgroup_host().processors);
    pause = std::clamp(left / processors, kFastestCheck, pause);
  }
  next_check_ = now + pause;
}

void Run::end_it(Cause cause) {
  cause_ = cause;
  cancel_at_ = Clock::time_point::max();
  const warden::SignalRequest request{.signal = SIGKILL, .everything = true};
  channel_->send(warden::Request::kSignal, request.encode());
  force_at_ = Clock::now() + kGrace;
  next_check_ = force_at_;
}

RunOutcome Run::judge() {
  RunOutcome outcome;
  outcome.usage.wall = duration_cast<microseconds>(Clock::now() - start_);
  outcome.first_event = first_event_;
  const Meter& meter = sandbox_.meter();
  const std::optional<microseconds> cpu = used_.cpu();
  outcome.usage.cpu = cpu.value_or(microseconds(ended_.cpu_us));
  outcome.usage.memory_peak = meter.memory_peak().value_or(Bytes{ended_.max_rss});
  outcome.usage.pids_peak = meter.pids_peak().value_or(0);

  // A tier without a file system of its own would tell of the host's.
  const bool own_disk = sandbox_.enclosure_.features.limits_disk;
  const bool own_inodes = sandbox_.enclosure_.features.limits_inodes;
  if (own_disk) {
    outcome.usage.disk = Bytes{ended_.disk_used};
    outcome.usage.inodes = own_inodes ? ended_.inodes_used : 0;
  }
  const bool disk_full = own_disk && ended_.disk_full;
  const bool inodes_full = own_inodes && ended_.inodes_full;
  const Met met{.memory = used_.ran_out_of_memory(),
                .pids = used_.ran_out_of_pids(),
                .disk = disk_full || inodes_full};
  for (const auto& [hit, limit] :
       {std::pair(met.memory, "memory"), std::pair(met.pids, "pids"), std::pair(disk_full, "disk"),
        std::pair(inodes_full, "inodes")}) {
    if (hit) {
      outcome.hit(limit);
    }
  }
  if (forced_ || warden_lost_) {
    outcome.notes.emplace_back(cpu ? "the sandbox had to be killed: its disk usage is unknown"
                                   : "the sandbox had to be killed: its CPU, memory and disk "
                                     "usage is unknown");
  }
  outcome.out = out_.finish();
  outcome.err = err_.finish();
  if (ended_.start_error != 0) {
    judge_start_error(outcome);
  } else {
    judge_exit(outcome, met);
  }
  if (outcome.out.truncated || outcome.err.truncated) {
    outcome.hit("output");
  }
  return outcome;
}

void Run::judge_start_error(RunOutcome& outcome) const {
  // As a shell answers: 127 for what is not there, 126 for what cannot be executed.
  outcome.status = Status::kError;
  outcome.exit_code = ended_.start_error == ENOENT ? 127 : 126;
  const Error error = Error::from_errno("cannot start '" + program_ + "'", ended_.start_error);
  OutputCapture with_message = err_;
  with_message.write("glovebox: " + error.message() + "\n");
  outcome.err = with_message.finish();
}

void Run::judge_exit(RunOutcome& outcome, const Met& met) const {
  const bool killed_by_us = forced_ || warden_lost_;
  outcome.set_end(killed_by_us ? SIGKILL : ended_.wait_status);
  const bool failed = outcome.exit_code != 0;
  const Limits& limits = options_.limits;
  if (cause_ == Cause::kCanceled || asked_to_end_) {
    outcome.status = Status::kCanceled;
  } else if (cause_ == Cause::kWall || ended_.deadline) {
    outcome.time_out("time");
  } else if (cause_ == Cause::kCpu ||
             (outcome.signal == SIGXCPU &&
              outcome.usage.cpu >= kNearly * microseconds(limits.cpu_time) &&
              limits.cpu_time.count() > 0)) {
    outcome.time_out("cpu_time");
  } else if (outcome.signal == SIGXCPU && sandbox_.enclosure_.runner) {
    outcome.time_out("time");  // It has done as much work as the time allows.
  } else if (cause_ == Cause::kHoard) {
    outcome.status = Status::kOutOfMemory;
    for (const std::string_view hoard : used_.hoards()) {
      outcome.limit = hoard;
      outcome.hit(hoard);
    }
  } else if (cause_ == Cause::kMemory || met.memory) {
    outcome.status = Status::kOutOfMemory;
  } else if (failed && met.pids) {
    outcome.status = Status::kPidsLimit;
  } else if ((failed && met.disk) || (outcome.signal == SIGXFSZ && file_size_limited_)) {
    outcome.status = Status::kDiskFull;
  } else if (failed &&
             gave_up_on_memory(outcome.err.bytes, outcome.usage.memory_peak, limits.memory)) {
    outcome.status = Status::kOutOfMemory;
    outcome.hit("memory");
  } else if (outcome.signal) {
    outcome.status = Status::kSignaled;
  } else {
    outcome.status = failed ? Status::kError : Status::kOk;
  }
}

}  // namespace glovebox
