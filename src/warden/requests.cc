// SPDX-License-Identifier: Apache-2.0
// What each request to the warden does.
#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "warden/file_walls.h"
#include "warden/warden.h"

namespace glovebox::warden {
namespace {

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

void Warden::handle(const Frame& frame) {
  // A frame that crossed kResting on its way is about windows that begin anew.
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
    reap();  // Perhaps nobody was left to kill, and so nobody to reap.
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

}  // namespace glovebox::warden
