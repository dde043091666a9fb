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
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/sys/descriptors.h"
#include "base/wire.h"

namespace glovebox::warden {
namespace {

// Above this much unsent output, pipes are left unread and their writers wait.
constexpr std::size_t kOutgoingBound = 512 * 1024;
constexpr std::size_t kReadSize = 64 * 1024;

// Not on the stack: a page of it that nothing is read into is never touched.
std::array<char, kReadSize> read_buffer;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void make_nonblocking(const UniqueFd& fd) { (void)::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

std::uint64_t microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U +
         static_cast<std::uint64_t>(time.tv_usec);
}

// As an errno for a report: never zero, which would be success.
int stream_error(const Error& error) {
  return error.code() == ErrorCode::kInvalid ? EINVAL : EMFILE;
}

}  // namespace

Warden::Warden(
    UniqueFd control, UniqueFd children, UniqueFd archiver, Starter starter, Workspace workspace)
    : control_(std::move(control)),
      children_(std::move(children)),
      archiver_(std::move(archiver)),
      starter_(starter),
      workspace_(std::move(workspace)) {}

Result<Warden::Streams> Warden::make_streams(const StartRequest& request) {
  Streams streams;
  const std::size_t count = descriptors_of(request.streams);
  if (passed_.size() < count) {
    return Error(ErrorCode::kInvalid, "file descriptors are missing");
  }
  // Those of the next frame may have come with the end of this one.
  const auto own_end = passed_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<UniqueFd> passed(std::make_move_iterator(passed_.begin()),
                               std::make_move_iterator(own_end));
  passed_.erase(passed_.begin(), own_end);
  switch (request.streams) {
    case warden::Streams::kProcess:
      streams.guest.in = std::move(passed[0]);
      streams.guest.out = std::move(passed[1]);
      streams.guest.err = std::move(passed[2]);
      return streams;
    case warden::Streams::kTerminal:
      streams.guest.terminal = std::move(passed[0]);
      return streams;
    case warden::Streams::kAgent:
    case warden::Streams::kRelayed:
      break;
  }
  if (request.with_stdin) {
    Pipe in = GB_TRY(make_pipe());
    streams.guest.in = std::move(in.read);
    streams.in = std::move(in.write);
    make_nonblocking(streams.in);
  } else {
    streams.guest.in = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  if (request.streams == warden::Streams::kAgent) {
    streams.guest.out = std::move(passed[0]);
    streams.guest.err = std::move(passed[1]);
    streams.guest.channel = std::move(passed[2]);
    return streams;
  }
  Pipe out = GB_TRY(make_pipe());
  Pipe err = GB_TRY(make_pipe());
  make_nonblocking(out.read);
  make_nonblocking(err.read);
  streams.guest.out = std::move(out.write);
  streams.guest.err = std::move(err.write);
  streams.out = std::move(out.read);
  streams.err = std::move(err.read);
  return streams;
}

void Warden::send(Reply type, std::uint32_t channel, std::string_view payload) {
  append_frame(outgoing_, static_cast<std::uint8_t>(type), channel, payload);
}

void Warden::run() {
  while (flush() && serve()) {
    for (auto next = processes_.begin(); next != processes_.end();) {
      const auto current = next++;
      finish(current->first, current->second);
    }
  }
  starter_.kill_everything();
}

bool Warden::serve() {
  // Beside each descriptor, whose it is; rebuilt in each turn, for there are few.
  enum class Source { kControl, kChildren, kIn, kOut, kErr, kTimer };
  std::vector<pollfd> polled;
  std::vector<std::pair<Source, std::uint32_t>> sources;
  const auto watch = [&](const UniqueFd& fd, short events, Source source, std::uint32_t channel) {
    if (fd) {
      polled.push_back({fd.get(), events, 0});
      sources.emplace_back(source, channel);
    }
  };
  watch(control_, static_cast<short>(POLLIN | (outgoing_.empty() ? 0 : POLLOUT)), Source::kControl,
        0);
  watch(children_, POLLIN, Source::kChildren, 0);
  const bool room = outgoing_.size() < kOutgoingBound;
  for (auto& [channel, process] : processes_) {
    if (!process.input.empty()) {
      watch(process.in, POLLOUT, Source::kIn, channel);
    }
    if (room) {
      watch(process.out, POLLIN, Source::kOut, channel);
      watch(process.err, POLLIN, Source::kErr, channel);
    }
    watch(process.timer, POLLIN, Source::kTimer, channel);
  }
  if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
    return false;
  }
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents == 0) {
      continue;
    }
    const auto [source, channel] = sources[i];
    const auto found = processes_.find(channel);
    switch (source) {
      case Source::kControl:
        if ((polled[i].revents & ~POLLOUT) != 0 && !read_control()) {
          return false;
        }
        break;
      case Source::kChildren:
        reap();
        break;
      case Source::kIn:
        if (found != processes_.end()) {
          pass_input(channel, found->second);
        }
        break;
      case Source::kOut:
        if (found != processes_.end()) {
          pass_output(channel, found->second, found->second.out, Reply::kStdout);
        }
        break;
      case Source::kErr:
        if (found != processes_.end()) {
          pass_output(channel, found->second, found->second.err, Reply::kStderr);
        }
        break;
      case Source::kTimer:
        if (found != processes_.end() && found->second.timer) {
          found->second.hit_deadline = true;
          found->second.timer.reset();
          starter_.kill_everything();
        }
        break;
    }
  }
  return true;
}

bool Warden::flush() {
  std::size_t sent = 0;
  while (sent < outgoing_.size()) {
    const ssize_t put = ::send(control_.get(), outgoing_.data() + sent, outgoing_.size() - sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EAGAIN) {
        break;
      }
      return false;
    }
    sent += static_cast<std::size_t>(put);
  }
  outgoing_.erase(0, sent);
  return true;
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
  const auto found = processes_.find(frame.channel);
  switch (static_cast<Request>(frame.type)) {
    case Request::kStart:
      start(frame.channel, frame.payload);
      break;
    case Request::kStdin:
      if (found != processes_.end() && found->second.in) {
        found->second.input += frame.payload;
        pass_input(frame.channel, found->second);
      }
      break;
    case Request::kStdinEnd:
      if (found != processes_.end()) {
        found->second.input_ended = true;
        pass_input(frame.channel, found->second);
      }
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
      workspace_.mark();
      done(frame.channel, {});
      break;
    case Request::kDisk: {
      EndedReport report;
      report_disk(report);
      send(Reply::kEnded, frame.channel, report.encode());
      break;
    }
    case Request::kChanges:
      send(Reply::kFiles, frame.channel, workspace_.changes().encode());
      break;
    case Request::kSnapshot:
    case Request::kRestore:
    case Request::kDropSnapshot:
      done(frame.channel,
           workspace_.serve_snapshot(static_cast<Request>(frame.type), frame.payload));
      break;
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
  auto streams = make_streams(request.value());
  if (!streams) {
    report_start_error(channel, stream_error(streams.error()));
    return;
  }
  const Started started = starter_.start(request.value(), streams->guest);
  if (started.start_error != 0) {
    report_start_error(channel, started.start_error);
    return;
  }
  Process& process = processes_[channel];
  process.pid = started.pid;
  process.alone = request->alone;
  process.in = std::move(streams->in);
  process.out = std::move(streams->out);
  process.err = std::move(streams->err);
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
  const auto add = [process](const std::string& path) { (process->input += path) += '\0'; };
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
  process->input_ended = true;
  pass_input(channel, *process);
}

Warden::Process* Warden::start_archiver(std::uint32_t channel,
                                        const std::vector<std::string>& argv) {
  if (processes_.contains(channel)) {
    report_start_error(channel, EBUSY);
    return nullptr;
  }
  auto streams = make_streams({.with_stdin = true});
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
  process.in = std::move(streams->in);
  process.out = std::move(streams->out);
  process.err = std::move(streams->err);
  return &process;
}

void Warden::signal(std::uint32_t channel, std::string_view payload) {
  const auto request = SignalRequest::decode(payload);
  if (!request || request->signal > 64) {
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

void Warden::reap() {
  std::array<signalfd_siginfo, 8> ignored;
  (void)!::read(children_.get(), ignored.data(), sizeof ignored);
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) {
      return;
    }
    const std::uint64_t cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    bool known = false;
    for (auto& [channel, process] : processes_) {
      if (process.pid == pid && !process.exited) {
        known = true;
        process.exited = true;
        process.wait_status = status;
        process.cpu_us = cpu_us;
        process.max_rss = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
        process.timer.reset();
        process.in.reset();
        if (process.alone) {
          starter_.kill_everything();
        }
      }
    }
    if (!known) {
      orphans_cpu_us_ += cpu_us;
    }
  }
}

void Warden::pass_input(std::uint32_t channel, Process& process) {
  std::size_t taken = 0;
  while (process.in && taken < process.input.size()) {
    const ssize_t put =
        ::write(process.in.get(), process.input.data() + taken, process.input.size() - taken);
    if (put < 0) {
      if (errno == EINTR) {
        continue;
      }
      if (errno == EAGAIN) {
        break;
      }
      process.in.reset();  // It reads no more; what it was sent is dropped, as a shell would.
      break;
    }
    taken += static_cast<std::size_t>(put);
  }
  if (!process.in) {
    taken = process.input.size();
  }
  process.input.erase(0, taken);
  if (taken > 0) {
    WireWriter count;
    count.u32(static_cast<std::uint32_t>(taken));
    send(Reply::kStdinTaken, channel, count.take());
  }
  if (process.input_ended && process.input.empty()) {
    process.in.reset();
  }
}

void Warden::pass_output(std::uint32_t channel, Process& process, UniqueFd& stream, Reply type) {
  const std::span<char> bytes = read_buffer;
  while (stream && outgoing_.size() < kOutgoingBound) {
    const ssize_t got = ::read(stream.get(), bytes.data(), bytes.size());
    if (got > 0) {
      send(type, channel, {bytes.data(), static_cast<std::size_t>(got)});
      continue;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got == 0 || errno != EAGAIN || (process.exited && !process.alone)) {
      // At its end; or empty after its process has ended, while a child in the background still
      // holds it open. A process that was alone takes its children with it, so its end comes.
      stream.reset();
    }
    return;
  }
}

void Warden::finish(std::uint32_t channel, Process& process) {
  if (!process.exited) {
    return;
  }
  pass_output(channel, process, process.out, Reply::kStdout);
  pass_output(channel, process, process.err, Reply::kStderr);
  if (process.out || process.err) {
    return;
  }
  EndedReport report{.wait_status = process.wait_status,
                     .cpu_us = process.cpu_us + std::exchange(orphans_cpu_us_, 0),
                     .max_rss = process.max_rss,
                     .deadline = process.hit_deadline};
  report_disk(report);
  send(Reply::kEnded, channel, report.encode());
  processes_.erase(channel);
}

void Warden::report_disk(EndedReport& report) const {
  const Workspace::DiskUse disk = workspace_.disk_use();
  report.disk_used = disk.bytes;
  report.inodes_used = disk.inodes;
  report.disk_full = disk.bytes_full;
  report.inodes_full = disk.inodes_full;
}

}  // namespace glovebox::warden
