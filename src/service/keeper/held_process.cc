// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/sys/pipe.h"
#include "files/open.h"
#include "sandbox/out_of_memory.h"
#include "spec/guest.h"

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kInputPatience = 10s;
// After its end, what is still in its pipes is read; what its children write later is theirs.
constexpr auto kLastWords = 2200ms;
constexpr std::size_t kPiece = 64UL * 1024;
// How many are read before others have their turn.
constexpr int kMostPieces = 16;
// What each event takes of our memory, besides what was said.
constexpr std::size_t kEventSize = 128;
// How much of standard error is kept, to tell why it ended.
constexpr std::size_t kMostErrors = 4UL * 1024;

std::size_t size_of(const ProcessEvent& event) {
  return kEventSize + event.bytes.size() + event.dry_run.size();
}

void make_nonblocking(const UniqueFd& fd) {
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

warden::TerminalSize size_of(ProcessRequest::Terminal terminal) {
  return {.columns = terminal.columns, .rows = terminal.rows};
}

}  // namespace

HeldProcess::HeldProcess(Sandbox& sandbox,
                         ProcessPump& pump,
                         std::shared_ptr<KeptMemory> memory,
                         ProcessRequest request,
                         OnEnd on_end)
    : sandbox_(sandbox),
      pump_(pump),
      request_(std::move(request)),
      on_end_(std::move(on_end)),
      oom_kills_before_(sandbox.meter().oom_kills()),
      share_(std::move(memory), *this) {}

Result<std::shared_ptr<HeldProcess>> HeldProcess::start(Sandbox& sandbox,
                                                        ProcessPump& pump,
                                                        std::shared_ptr<KeptMemory> memory,
                                                        const ProcessRequest& request,
                                                        const Limits& limits,
                                                        OnEnd on_end) {
  GB_TRY(pump.start());
  std::shared_ptr<HeldProcess> held(
      new HeldProcess(sandbox, pump, std::move(memory), request, std::move(on_end)));
  GB_TRY(held->open_streams(limits));
  if (request.timeout.count() > 0) {
    held->deadline_ = sandbox.clock().now() + request.timeout;
  }
  held->process_->wake_by(pump.wake_fd());
  held->say({.kind = ProcessEvent::Kind::kStarted, .pid = held->pid()});
  pump.add(held);
  return held;
}

Result<void> HeldProcess::open_streams(const Limits& limits) {
  const RunOptions options{.limits = limits, .kill_rest = false};
  Command command = request_.command;
  if (!request_.user.empty()) {
    command.argv = as_user(by_number(request_.user), command.argv);
  }
  if (request_.terminal) {
    process_ = GB_TRY(sandbox_.start_in_terminal(command, options, size_of(*request_.terminal)));
    // Read by one thread, which closes its copy at the end, and written by others.
    out_.fd = UniqueFd(::fcntl(process_->terminal().get(), F_DUPFD_CLOEXEC, 0));
    return {};
  }
  sys::Pipe out = GB_TRY(sys::make_pipe());
  sys::Pipe err = GB_TRY(sys::make_pipe());
  sys::Pipe in;
  if (request_.keep_stdin) {
    in = GB_TRY(sys::make_pipe());
    make_nonblocking(in.write);
  } else {
    in.read = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  const std::array<int, 3> theirs{in.read.get(), out.write.get(), err.write.get()};
  process_ = GB_TRY(sandbox_.start_process(command, options, theirs));
  in_ = std::move(in.write);
  out_.fd = std::move(out.read);
  err_.fd = std::move(err.read);
  make_nonblocking(out_.fd);
  make_nonblocking(err_.fd);
  return {};
}

bool HeldProcess::has_room() const {
  return listeners_ == 0 || bytes_ < (share_.memory().is_full() ? kMostKeptInNeed : kMostKept);
}

void HeldProcess::say(ProcessEvent event) {
  {
    const std::scoped_lock lock(mutex_);
    const std::size_t size = size_of(event);
    bytes_ += size;
    share_.add(size);
    said_.push_back({.event = std::move(event), .stamp = share_.memory().stamp()});
    while (bytes_ > kMostKept && listeners_ == 0 && said_.size() > 1) {
      forget_first();
    }
  }
  share_.fit();
}

void HeldProcess::forget_first() {
  const std::size_t size = size_of(said_.front().event);
  bytes_ -= size;
  share_.remove(size);
  said_.pop_front();
  ++first_;
}

std::optional<std::uint64_t> HeldProcess::oldest() const {
  const std::scoped_lock lock(mutex_);
  return listeners_ == 0 && said_.size() > 1 ? std::optional(said_.front().stamp) : std::nullopt;
}

void HeldProcess::drop_oldest() {
  const std::scoped_lock lock(mutex_);
  const std::size_t before = bytes_;
  while (listeners_ == 0 && said_.size() > 1 && before - bytes_ < KeptMemory::kPiece) {
    forget_first();
  }
}

// Returns true when there is nothing to be read any more.
bool HeldProcess::read_from(const ProcessPump& pump, Source& source, ProcessEvent::Kind kind) {
  std::array<char, kPiece> bytes;
  bool drained = !source.fd;
  bool room = true;
  for (int piece = 0; !drained && piece < kMostPieces; ++piece) {
    {
      const std::scoped_lock lock(mutex_);
      room = has_room();
      stalled_ = stalled_ || !room;
    }
    if (!room) {
      break;
    }
    const ssize_t got = ::read(source.fd.get(), bytes.data(), bytes.size());
    if (got > 0) {
      if (kind == ProcessEvent::Kind::kStderr) {
        last_errors_.append(bytes.data(), static_cast<std::size_t>(got));
        last_errors_.erase(0, last_errors_.size() - std::min(last_errors_.size(), kMostErrors));
      }
      say({.kind = kind,
           .pid = pid(),
           .bytes = std::string(bytes.data(), static_cast<std::size_t>(got))});
    } else if (got < 0 && errno == EAGAIN) {
      drained = true;
    } else if (got == 0 || errno != EINTR) {
      close(pump, source);  // EIO of a terminal: nobody has its other end any more.
      return true;
    }
  }
  // What is not read must not be watched: it would be ready all the time.
  if (source.fd && source.watched != room) {
    pump.watch(source.fd.get(), *this, room);
    source.watched = room;
  }
  return drained;
}

void HeldProcess::close(const ProcessPump& pump, Source& source) {
  if (source.watched) {
    // We have another descriptor of a terminal, so it would still be watched.
    pump.watch(source.fd.get(), *this, false);
    source.watched = false;
  }
  source.fd.reset();
}

bool HeldProcess::look(const ProcessPump& pump) {
  // Before the streams are read, so that all it wrote before its end is there.
  const auto& report = process_->ended();
  if (report && !sandbox_.alive()) {
    lose();
    return false;
  }
  {
    const std::scoped_lock lock(mutex_);
    stalled_ = false;
  }
  const bool out_drained = read_from(
      pump, out_, request_.terminal ? ProcessEvent::Kind::kTerminal : ProcessEvent::Kind::kStdout);
  const bool err_drained = read_from(pump, err_, ProcessEvent::Kind::kStderr);
  const auto now = sandbox_.clock().now();
  if (!report) {
    if (now >= deadline_) {
      timed_out_ = true;
      process_->signal(SIGKILL);
      deadline_ = GuestClock::Base::time_point::max();
    }
    due_ = deadline_;
    return true;
  }
  last_words_ = std::min(last_words_, now + kLastWords);
  due_ = last_words_;
  if ((!out_drained || !err_drained) && now < last_words_) {
    return true;
  }
  close(pump, out_);
  close(pump, err_);
  say_end(report->wait_status);
  return false;
}

void HeldProcess::say_end(int wait_status) {
  ProcessEvent end{.kind = ProcessEvent::Kind::kEnded, .pid = pid()};
  if (WIFSIGNALED(wait_status)) {
    end.signal = WTERMSIG(wait_status);
    end.exit_code = 128 + *end.signal;
  } else {
    end.exit_code = WEXITSTATUS(wait_status);
  }
  end.reason = reason_of(end);
  {
    const std::scoped_lock lock(mutex_);
    ended_ = Clock::now();
  }
  if (on_end_) {
    on_end_(request_, end);
  }
  say(std::move(end));
}

Status HeldProcess::reason_of(const ProcessEvent& end) const {
  if (end.exit_code == 0) {
    return Status::kOk;
  }
  const bool was_killed = end.exit_code == 128 + SIGKILL;  // Itself, or what a shell waited for.
  if (was_killed && timed_out_) {
    return Status::kTimeout;
  }
  if (was_killed && killed_) {
    return Status::kCanceled;
  }
  const Meter& meter = sandbox_.meter();
  if ((was_killed && meter.oom_kills() > oom_kills_before_) ||
      gave_up_on_memory(last_errors_, meter.memory_peak(), sandbox_.limits().memory)) {
    return Status::kOutOfMemory;
  }
  return end.signal ? Status::kSignaled : Status::kError;
}

void HeldProcess::lose() {
  const std::scoped_lock lock(mutex_);
  ended_ = Clock::now();
}

HeldProcess::Listener::Listener(std::shared_ptr<HeldProcess> process, bool from_start)
    : process_(std::move(process)) {
  const std::scoped_lock lock(process_->mutex_);
  ++process_->listeners_;
  const std::uint64_t end = process_->first_ + process_->said_.size();
  // The end itself is for everybody.
  at_ = from_start || !process_->heard_ ? process_->first_
        : process_->ended_ && end > 0   ? end - 1
                                        : end;
  process_->heard_ = true;
}

HeldProcess::Listener::~Listener() {
  HeldProcess& process = *process_;
  bool stalled = false;
  {
    const std::scoped_lock lock(process.mutex_);
    --process.listeners_;
    stalled = process.stalled_;
  }
  if (stalled) {
    process.pump_.poke();
  }
}

std::optional<ProcessEvent> HeldProcess::Listener::next() {
  HeldProcess& process = *process_;
  std::unique_lock lock(process.mutex_);
  at_ = std::max(at_, process.first_);
  if (process.first_ + process.said_.size() <= at_) {
    return std::nullopt;
  }
  ProcessEvent event = process.said_[at_ - process.first_].event;
  ++at_;
  // What the only listener has had is not kept.
  while (process.listeners_ == 1 && process.first_ < at_ && process.said_.size() > 1) {
    process.forget_first();
  }
  const bool may_go_on = process.stalled_ && process.has_room();
  lock.unlock();
  if (may_go_on) {
    process.pump_.poke();
  }
  return event;
}

Result<void> HeldProcess::signal(int signal) {
  if (ended()) {
    return Error(ErrorCode::kNotFound, "process " + std::to_string(pid()) + " has ended",
                 "list the running processes");
  }
  killed_ = killed_ || signal == SIGKILL;
  process_->signal(signal);
  return {};
}

Result<void> HeldProcess::write(std::string_view bytes) {
  const std::scoped_lock lock(input_mutex_);
  const UniqueFd& to = request_.terminal ? process_->terminal() : in_;
  if (!to) {
    return Error(ErrorCode::kConflict,
                 "the standard input of process " + std::to_string(pid()) + " is closed");
  }
  const auto deadline = Clock::now() + kInputPatience;
  while (!bytes.empty()) {
    // SIGPIPE is ignored by the keeper.
    const ssize_t put = ::write(to.get(), bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
      continue;
    }
    if (errno == EAGAIN || errno == EINTR) {
      pollfd polled{to.get(), POLLOUT, 0};
      (void)::poll(&polled, 1, 100);
      if (Clock::now() < deadline && !ended()) {
        continue;
      }
      return Error(ErrorCode::kExhausted, "the process does not read its input");
    }
    return Error(ErrorCode::kConflict, "the process has closed its standard input");
  }
  return {};
}

Result<void> HeldProcess::close_stdin() {
  if (request_.terminal) {
    return write("\x04");  // As somebody at the terminal would (VEOF, termios(3)).
  }
  const std::scoped_lock lock(input_mutex_);
  in_.reset();
  return {};
}

Result<void> HeldProcess::resize(ProcessRequest::Terminal size) {
  if (!request_.terminal) {
    return Error(ErrorCode::kConflict, "process " + std::to_string(pid()) + " has no terminal");
  }
  return process_->resize(size_of(size));
}

ProcessInfo HeldProcess::info() const {
  return {.pid = pid(),
          .command = request_.command,
          .tag = request_.tag,
          .terminal = request_.terminal.has_value(),
          .alive = !ended()};
}

std::optional<Clock::time_point> HeldProcess::ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

}  // namespace glovebox::keeper
