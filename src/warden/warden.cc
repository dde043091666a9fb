// SPDX-License-Identifier: Apache-2.0
#include "warden/warden.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"
#include "base/sys/send_now.h"
#include "base/wire.h"
#include "warden/file_walls.h"

namespace glovebox::warden {
namespace {

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U +
         static_cast<std::uint64_t>(time.tv_usec);
}

// As an errno for a report: never zero, which would be success.
int stream_error(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kInvalid:
      return EINVAL;
    case ErrorCode::kUnsupported:
      return EOPNOTSUPP;
    default:
      return EMFILE;
  }
}

}  // namespace

Warden::Warden(UniqueFd control,
               UniqueFd children,
               UniqueFd archiver,
               Machine machine,
               Starter starter,
               Workspace workspace,
               RootChanges root)
    : control_(std::move(control)),
      children_(std::move(children)),
      archiver_(std::move(archiver)),
      machine_(std::move(machine)),
      starter_(starter),
      workspace_(std::move(workspace)),
      root_(std::move(root)) {}

void Warden::send(Reply type, std::uint32_t channel, std::string_view payload) {
  outgoing_.add(type, channel, payload);
}

void Warden::announce(std::string report) {
  ready_ = std::move(report);
  send(Reply::kReady, 0, ready_);
}

void Warden::announce_when_described(std::string report) {
  ready_ = std::move(report);
  is_undescribed_ = true;
}

void Warden::run() {
  while (flush() && serve()) {
    if (resting_) {
      continue;
    }
    for (auto next = processes_.begin(); next != processes_.end();) {
      const auto current = next++;
      if (current->second.claimed) {
        finish(current->first, current->second);
      }
    }
  }
  starter_.kill_everything();
}

bool Warden::serve() {
  // Beside each descriptor, whose it is; rebuilt in each turn, for there are few.
  enum class Kind { kControl, kChildren, kInlet, kOutlet, kTimer };
  struct Source {
    Kind kind;
    std::uint32_t channel = 0;
    std::size_t index = 0;  // Of the stream.
  };
  std::vector<pollfd> polled;
  std::vector<Source> sources;
  const auto watch = [&](const UniqueFd& fd, short events, Source source) {
    if (fd) {
      polled.push_back({fd.get(), events, 0});
      sources.push_back(source);
    }
  };
  watch(control_, static_cast<short>(POLLIN | (outgoing_.empty() ? 0 : POLLOUT)), {Kind::kControl});
  if (!resting_) {
    watch(children_, POLLIN, {Kind::kChildren});
  }
  const bool room = outgoing_.has_room();
  for (auto& [channel, process] : processes_) {
    if (resting_) {
      break;
    }
    for (std::size_t i = 0; i < process.streams.in.size(); ++i) {
      if (!process.streams.in[i].waiting.empty()) {
        watch(process.streams.in[i].fd, POLLOUT, {Kind::kInlet, channel, i});
      }
    }
    for (std::size_t i = 0; i < process.streams.out.size(); ++i) {
      if (room && process.streams.out[i].window > 0) {
        watch(process.streams.out[i].fd, POLLIN, {Kind::kOutlet, channel, i});
      }
    }
    watch(process.timer, POLLIN, {Kind::kTimer, channel});
  }
  if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
    return false;
  }
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) {
      continue;
    }
    const auto [kind, channel, index] = sources[i];
    if (kind == Kind::kControl) {
      if ((polled[i].revents & ~POLLOUT) != 0 && !read_control()) {
        return false;
      }
      continue;
    }
    if (kind == Kind::kChildren) {
      reap();
      continue;
    }
    const auto found = processes_.find(channel);
    if (found == processes_.end()) {
      continue;
    }
    Process& process = found->second;
    if (kind == Kind::kInlet) {
      process.streams.pass_input(index, outgoing_);
    } else if (kind == Kind::kOutlet) {
      process.streams.pass_output(index, process.may_write(), outgoing_);
    } else if (process.timer) {
      process.hit_deadline = true;
      process.timer.reset();
      end_guests();
    }
  }
  return true;
}

bool Warden::flush() {
  const auto sent = sys::send_now(control_.get(), outgoing_.bytes());
  outgoing_.drop(sent.value_or(0));
  return sent.has_value();
}

bool Warden::read_control() {
  const std::span<char> bytes = read_buffer;
  const ssize_t got = sys::receive_with(control_.get(), bytes, passed_, MSG_DONTWAIT);
  if (got < 0) {
    return errno == EAGAIN || errno == EINTR;
  }
  if (got == 0) {
    return false;
  }
  parser_.feed({bytes.data(), static_cast<std::size_t>(got)});
  Frame frame;
  for (;;) {
    const auto more = parser_.next(frame);
    if (!more) {
      return false;
    }
    if (!more.value()) {
      return true;
    }
    handle(frame);
  }
}

void Warden::handle(const Frame& frame) {
  // What crossed kResting on its way is about windows that begin anew.
  if (resting_ && static_cast<Request>(frame.type) != Request::kWake &&
      static_cast<Request>(frame.type) != Request::kGoOn) {
    return;
  }
  switch (static_cast<Request>(frame.type)) {
    case Request::kStart:
      start(frame.channel, frame.payload);
      break;
    case Request::kStdin:
      take_input(frame.channel, Stream::kIn, frame.payload);
      break;
    case Request::kToChannel:
      take_input(frame.channel, Stream::kToChannel, frame.payload);
      break;
    case Request::kStreamEnd:
      end_stream(frame.channel, frame.payload);
      break;
    case Request::kTaken:
      acknowledged(frame.channel, frame.payload);
      break;
    case Request::kSettle:
      settle(frame.channel);
      break;
    case Request::kSignal:
      signal(frame.channel, frame.payload);
      break;
    case Request::kWrite: {
      const auto request = WriteRequest::decode(frame.payload);
      done(frame.channel, request ? workspace_.write(request.value())
                                  : Result<void>(Error(ErrorCode::kInvalid, "malformed")));
      break;
    }
    case Request::kUnpack:
      (void)start_archiver(frame.channel,
                           {"glovebox-archiver", "unpack", std::string(frame.payload)});
      break;
    case Request::kPack:
      pack(frame.channel, frame.payload);
      break;
    case Request::kMark:
      mark();
      done(frame.channel, {});
      break;
    case Request::kMachine:
      describe_machine(frame.payload);
      if (std::exchange(is_undescribed_, false)) {
        send(Reply::kReady, 0, ready_);
      }
      break;
    case Request::kDisk: {
      EndedReport report;
      report_disk(report);
      send(Reply::kEnded, frame.channel, report.encode());
      break;
    }
    case Request::kChanges:
      report_changes(frame.channel);
      break;
    case Request::kProgram:
      take_program(frame.channel, frame.payload);
      break;
    case Request::kSnapshot:
    case Request::kRestore:
    case Request::kDropSnapshot:
      done(frame.channel,
           workspace_.serve_snapshot(static_cast<Request>(frame.type), frame.payload));
      break;
    case Request::kCompare:
      send(Reply::kDifferences, frame.channel, workspace_.compare(frame.payload).encode());
      break;
    case Request::kReadVersion:
      send(Reply::kContent, frame.channel, workspace_.read_version(frame.payload).encode());
      break;
    case Request::kRest:
      send(Reply::kResting, frame.channel, {});
      resting_ = true;
      break;
    case Request::kWake:
      wake();
      break;
    case Request::kGoOn:
      resting_ = false;
      break;
    case Request::kResize:
      resize(frame.channel, frame.payload);
      break;
    case Request::kMoveIn:
      break;  // Done before this loop, or not asked of this warden: once is enough.
  }
}

void Warden::wake() {
  resting_ = false;
  ProcessesReport report;
  for (auto& [channel, process] : processes_) {
    if (process.streams.beside && report.processes.size() < ProcessesReport::kMost) {
      process.claimed = false;
      for (Outlet& outlet : process.streams.out) {
        outlet.window = 0;
      }
      const auto waiting = [&](Stream stream) {
        return static_cast<std::uint32_t>(process.streams.inlet(stream)->waiting.size());
      };
      report.processes.push_back({.channel = channel,
                                  .pid = static_cast<std::uint32_t>(process.pid),
                                  .streams = process.kind,
                                  .waiting_in = waiting(Stream::kIn),
                                  .waiting_to_channel = waiting(Stream::kToChannel)});
    }
  }
  send(Reply::kProcesses, 0, report.encode());
  send(Reply::kReady, 0, ready_);
}

void Warden::describe_machine(std::string_view payload) const {
  WireReader reader(payload);
  const std::vector<std::string> texts = reader.texts(machine_.size());
  for (std::size_t i = 0; i < texts.size() && reader.complete(); ++i) {
    if (machine_[i]) {
      const ssize_t size = ::pwrite(machine_[i].get(), texts[i].data(), texts[i].size(), 0);
      if (::lseek(machine_[i].get(), 0, SEEK_END) > size) {
        (void)::ftruncate(machine_[i].get(), std::max<ssize_t>(size, 0));
      }
    }
  }
}

void Warden::done(std::uint32_t channel, const Result<void>& result) {
  send(Reply::kDone, channel,
       result ? DoneReport{}.encode()
              : DoneReport{.error = result.error().message(), .os_error = result.error().os_error()}
                    .encode());
}

void Warden::report_start_error(std::uint32_t channel, int error) {
  send(Reply::kEnded, channel, EndedReport{.start_error = error}.encode());
}

void Warden::start(std::uint32_t channel, std::string_view payload) {
  if (processes_.contains(channel)) {
    report_start_error(channel, EBUSY);
    return;
  }
  auto request = StartRequest::decode(payload);
  if (!request) {
    report_start_error(channel, EINVAL);
    return;
  }
  if (ending_) {
    reap();  // It may be that nobody was left to be killed, and so nobody to be reaped.
  }
  auto streams = make_streams(request.value(), passed_);
  if (!streams) {
    report_start_error(channel, stream_error(streams.error()));
    return;
  }
  const auto file_walls = make_file_walls(workspace_, request.value());
  if (!file_walls) {
    report_start_error(channel, EACCES);
    return;
  }
  const Started started = starter_.start(request.value(), streams->guest, *file_walls);
  if (started.start_error != 0) {
    report_start_error(channel, started.start_error);
    return;
  }
  Process& process = processes_[channel];
  process.pid = started.pid;
  process.alone = request->alone;
  process.waits = request->waits;
  process.kind = request->streams;
  process.streams = std::move(streams->ours);
  process.streams.channel = channel;
  set_deadline(process, request->deadline_ms);
  WireWriter pid;
  pid.u32(static_cast<std::uint32_t>(process.pid));
  send(Reply::kStarted, channel, pid.take());
}

void Warden::set_deadline(Process& process, std::uint64_t milliseconds) {
  if (milliseconds == 0) {
    return;
  }
  process.timer = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  itimerspec at{};
  at.it_value.tv_sec = static_cast<time_t>(milliseconds / 1000);
  at.it_value.tv_nsec = static_cast<long>(milliseconds % 1000) * 1'000'000;
  (void)::timerfd_settime(process.timer.get(), 0, &at, nullptr);
}

void Warden::pack(std::uint32_t channel, std::string_view payload) {
  const auto request = PackRequest::decode(payload);
  if (!request) {
    report_start_error(channel, EINVAL);
    return;
  }
  Process* const process =
      start_archiver(channel, {"glovebox-archiver", "pack", std::to_string(request->max_bytes)});
  if (process == nullptr) {
    return;
  }
  // The archiver knows nothing of the mark: it is told the names.
  Inlet& names = process->streams.in[0];
  const auto add = [&names](const std::string& path) { (names.waiting += path) += '\0'; };
  if (request->changed_only) {
    for (const FileChange& change : workspace_.changes().files) {
      if (change.kind != FileChange::Kind::kDeleted) {
        add(change.path);
      }
    }
  } else {
    bool truncated = false;
    for (const auto& [path, seen] : workspace_.walk(request->path, truncated)) {
      add(path);
    }
  }
  names.ended = true;
  process->streams.pass_input(0, outgoing_);
}

Warden::Process* Warden::start_archiver(std::uint32_t channel,
                                        const std::vector<std::string>& argv) {
  if (processes_.contains(channel)) {
    report_start_error(channel, EBUSY);
    return nullptr;
  }
  auto streams = make_streams({.with_stdin = true}, passed_);
  if (!streams) {
    report_start_error(channel, stream_error(streams.error()));
    return nullptr;
  }
  const Started started = starter_.start_own(archiver_.get(), argv, streams->guest);
  if (started.start_error != 0) {
    report_start_error(channel, started.start_error);
    return nullptr;
  }
  Process& process = processes_[channel];
  process.pid = started.pid;
  process.streams = std::move(streams->ours);
  process.streams.channel = channel;
  return &process;
}

void Warden::signal(std::uint32_t channel, std::string_view payload) {
  const auto request = SignalRequest::decode(payload);
  if (!request || request->signal > 64) {
    return;
  }
  if (request->everything && request->signal == SIGKILL) {
    end_guests();
    return;
  }
  if (request->everything) {
    starter_.signal_everything(static_cast<int>(request->signal));
    return;
  }
  const auto found = processes_.find(channel);
  if (found != processes_.end() && !found->second.exited) {
    // Each process leads a session, so its group is itself and what it did not set apart.
    (void)::kill(-found->second.pid, static_cast<int>(request->signal));
  }
}

void Warden::resize(std::uint32_t channel, std::string_view payload) {
  const auto size = TerminalSize::decode(payload);
  const auto found = processes_.find(channel);
  if (size && found != processes_.end() && found->second.kind == Streams::kTerminal) {
    warden::resize(found->second.streams, size.value());
  }
}

void Warden::reap() {
  std::array<signalfd_siginfo, 8> ignored;
  (void)!::read(children_.get(), ignored.data(), sizeof ignored);
  for (bool reaped = false;; reaped = true) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG | WUNTRACED, &usage);
    if (pid == 0 && ending_ && reaped) {
      starter_.kill_everything();  // Whatever those had still given birth to is there now.
    }
    if (pid < 0) {
      ending_ = false;  // All are our children once their own parents are gone.
    }
    if (pid <= 0) {
      return;
    }
    const std::uint64_t cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    const bool stopped = WIFSTOPPED(status);
    bool known = stopped || stopped_.erase(pid) > 0;
    for (auto& [channel, process] : processes_) {
      if (process.pid == pid && !process.exited && (!stopped || process.waits)) {
        known = true;
        process.exited = true;
        process.wait_status = status;
        if (stopped) {
          process.stopped = true;
          process.wait_status = 0;
          stopped_.insert(pid);
        }
        process.cpu_us = cpu_us;
        process.max_rss = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
        process.timer.reset();
        process.streams.end_process();
        if (process.alone) {
          end_guests();
        }
      }
    }
    if (!known) {
      orphans_cpu_us_ += cpu_us;
    }
  }
}

void Warden::end_guests() {
  starter_.kill_everything();
  ending_ = starter_.misses_births();
}

void Warden::take_input(std::uint32_t channel, Stream stream, std::string_view bytes) {
  const auto found = processes_.find(channel);
  if (found != processes_.end()) {
    found->second.streams.take_input(stream, bytes, outgoing_);
  }
}

void Warden::end_stream(std::uint32_t channel, std::string_view payload) {
  const auto found = processes_.find(channel);
  const auto report = StreamReport::decode(payload);
  if (found != processes_.end() && report) {
    found->second.streams.end_stream(report->stream, outgoing_);
  }
}

void Warden::acknowledged(std::uint32_t channel, std::string_view payload) {
  const auto found = processes_.find(channel);
  const auto report = StreamReport::decode(payload);
  if (found != processes_.end() && report &&
      found->second.streams.acknowledge(report->stream, report->bytes)) {
    found->second.claimed = true;
  }
}

// A child in the background may still hold the stream of a run open whose process has ended. One
// that was alone takes its children with it, so the end of its streams comes; where it has stopped,
// that is not awaited.
bool Warden::Process::may_write() const { return !stopped && (streams.beside || alone || !exited); }

void Warden::settle(std::uint32_t channel) {
  const auto found = processes_.find(channel);
  if (found != processes_.end()) {
    found->second.settling = true;
    found->second.streams.owe_output();
  }
}

void Warden::take_program(std::uint32_t channel, std::string_view payload) {
  const auto found = processes_.find(channel);
  if (found == processes_.end()) {
    return;  // Its end tells.
  }
  const auto request = WriteRequest::decode(payload);
  if (const auto written = request ? workspace_.write(*request) : request.error(); !written) {
    done(channel, written);
    return;
  }
  mark();
  found->second.tells_changes = true;
}

void Warden::mark() {
  workspace_.mark();
  root_.mark();
}

void Warden::report_changes(std::uint32_t channel) {
  FilesReport report = workspace_.changes();
  root_.add_to(report);
  send(Reply::kFiles, channel, report.encode());
}

void Warden::finish(std::uint32_t channel, Process& process) {
  if (process.settling) {
    process.streams.pass_output(0, process.may_write(), outgoing_);
    process.streams.pass_output(1, process.may_write(), outgoing_);
    if (!process.streams.owing()) {
      send(Reply::kSettled, channel, {});
      process.settling = false;
    }
  }
  if (!process.exited || ending_) {
    return;
  }
  if (!process.reported) {
    for (std::size_t i = 0; i < process.streams.out.size(); ++i) {
      process.streams.pass_output(i, process.may_write(), outgoing_);
    }
    if (process.streams.beside ? process.streams.owing() : process.streams.open()) {
      return;
    }
    EndedReport report{.wait_status = process.wait_status,
                       .cpu_us = process.cpu_us + std::exchange(orphans_cpu_us_, 0),
                       .max_rss = process.max_rss,
                       .deadline = process.hit_deadline};
    report_disk(report);
    if (process.tells_changes) {
      report_changes(channel);
    }
    send(Reply::kEnded, channel, report.encode());
    process.reported = true;
  }
  if (!process.streams.open()) {
    processes_.erase(channel);
  }
}

void Warden::report_disk(EndedReport& report) const {
  const Workspace::DiskUse disk = workspace_.disk_use();
  report.disk_used = disk.bytes;
  report.inodes_used = disk.inodes;
  report.disk_full = disk.bytes_full;
  report.inodes_full = disk.inodes_full;
}

}  // namespace glovebox::warden
