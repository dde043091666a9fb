// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/held_process.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace glovebox::keeper {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The end of a process may be told to whoever asks the warden next, so each looks for its own.
constexpr int kLookMs = 20;
constexpr auto kInputPatience = 10s;
// After its end, what is still in its pipes is read; what its children write later is theirs.
constexpr auto kLastWords = 200ms;
constexpr std::size_t kPiece = 64UL * 1024;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::from_errno("make a pipe");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void make_nonblocking(const UniqueFd& fd) {
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

winsize size_of(ProcessRequest::Terminal terminal) {
  return {.ws_row = terminal.rows, .ws_col = terminal.columns, .ws_xpixel = 0, .ws_ypixel = 0};
}

struct TerminalPair {
  UniqueFd ours;
  UniqueFd theirs;
};

// Of the host's own devpts (pty(7)): the guest gets an open terminal, and no way to another one.
Result<TerminalPair> open_terminal(ProcessRequest::Terminal size) {
  TerminalPair pair{.ours = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), .theirs = {}};
  int unlocked = 0;
  if (!pair.ours || ::ioctl(pair.ours.get(), TIOCSPTLCK, &unlocked) != 0) {
    return Error::from_errno("open a terminal");
  }
  pair.theirs = UniqueFd(::ioctl(pair.ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize dimensions = size_of(size);
  if (!pair.theirs || ::ioctl(pair.ours.get(), TIOCSWINSZ, &dimensions) != 0) {
    return Error::from_errno("open a terminal");
  }
  return pair;
}

}  // namespace

Result<std::shared_ptr<HeldProcess>> HeldProcess::start(Sandbox& sandbox,
                                                        const ProcessRequest& request,
                                                        const Limits& limits) {
  std::shared_ptr<HeldProcess> held(new HeldProcess(sandbox, request));
  RunOptions options{.limits = limits, .kill_rest = false};
  Sandbox::StartedProcess started;
  if (request.terminal) {
    TerminalPair pair = GB_TRY(open_terminal(*request.terminal));
    const std::array<int, 1> theirs{pair.theirs.get()};
    started =
        GB_TRY(sandbox.start_process(request.command, options, warden::Streams::kTerminal, theirs));
    // Read by one thread, which closes its copy at the end, and written by others.
    held->out_ = UniqueFd(::fcntl(pair.ours.get(), F_DUPFD_CLOEXEC, 0));
    held->terminal_ = std::move(pair.ours);
    make_nonblocking(held->terminal_);
  } else {
    Pipe out = GB_TRY(make_pipe());
    Pipe err = GB_TRY(make_pipe());
    Pipe in;
    if (request.keep_stdin) {
      in = GB_TRY(make_pipe());
      make_nonblocking(in.write);
    } else {
      in.read = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    const std::array<int, 3> theirs{in.read.get(), out.write.get(), err.write.get()};
    started =
        GB_TRY(sandbox.start_process(request.command, options, warden::Streams::kProcess, theirs));
    held->in_ = std::move(in.write);
    held->out_ = std::move(out.read);
    held->err_ = std::move(err.read);
    make_nonblocking(held->out_);
    make_nonblocking(held->err_);
  }
  held->process_ = started.process;
  held->pid_ = started.pid;
  held->say({.kind = ProcessEvent::Kind::kStarted, .pid = started.pid});
  held->pump_ = std::thread(&HeldProcess::pump, held.get());
  return held;
}

HeldProcess::~HeldProcess() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (pump_.joinable()) {
    pump_.join();
  }
}

bool HeldProcess::has_room() const { return listeners_ == 0 || bytes_ < kMostKept; }

void HeldProcess::say(ProcessEvent event) {
  const std::scoped_lock lock(mutex_);
  bytes_ += event.bytes.size();
  said_.push_back(std::move(event));
  while (bytes_ > kMostKept && listeners_ == 0 && said_.size() > 1) {
    bytes_ -= said_.front().bytes.size();
    said_.pop_front();
    ++first_;
  }
  changed_.notify_all();
}

void HeldProcess::read_into(UniqueFd& from, ProcessEvent::Kind kind) {
  ProcessEvent event{.kind = kind, .pid = pid_, .bytes = std::string(kPiece, '\0')};
  const ssize_t got = ::read(from.get(), event.bytes.data(), event.bytes.size());
  if (got > 0) {
    event.bytes.resize(static_cast<std::size_t>(got));
    say(std::move(event));
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    from.reset();  // EIO of a terminal: nobody has its other end any more.
  }
}

void HeldProcess::pump() {
  const auto deadline =
      request_.timeout.count() > 0 ? Clock::now() + request_.timeout : Clock::time_point::max();
  bool killed = false;
  std::optional<warden::EndedReport> report;
  Clock::time_point last_words{};
  for (;;) {
    bool room = true;
    {
      std::unique_lock lock(mutex_);
      if (!has_room()) {
        changed_.wait_for(lock, std::chrono::milliseconds(kLookMs),
                          [&] { return stopping_ || has_room(); });
      }
      if (stopping_) {
        return;
      }
      room = has_room();
    }
    const auto stream = [&](const UniqueFd& fd) { return room && fd ? fd.get() : -1; };
    std::array<pollfd, 3> polled{{{stream(out_), POLLIN, 0},
                                  {stream(err_), POLLIN, 0},
                                  {report ? -1 : sandbox_.events_fd(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), report ? 0 : kLookMs);
    if (polled[0].revents != 0) {
      read_into(out_, terminal_ ? ProcessEvent::Kind::kTerminal : ProcessEvent::Kind::kStdout);
    }
    if (polled[1].revents != 0) {
      read_into(err_, ProcessEvent::Kind::kStderr);
    }
    const auto now = Clock::now();
    if (!report) {
      if (!killed && now >= deadline) {
        killed = true;
        (void)sandbox_.signal_detached(process_, SIGKILL);
      }
      report = sandbox_.detached_end(process_);
      if (!sandbox_.alive()) {
        lose();
        return;
      }
      last_words = now + kLastWords;
      continue;
    }
    // Its end is told after all that it had written.
    if ((room && ready <= 0) || now >= last_words + 2s) {
      break;
    }
  }
  ProcessEvent end{.kind = ProcessEvent::Kind::kEnded, .pid = pid_};
  if (WIFSIGNALED(report->wait_status)) {
    end.signal = WTERMSIG(report->wait_status);
    end.exit_code = 128 + *end.signal;
  } else {
    end.exit_code = WEXITSTATUS(report->wait_status);
  }
  {
    const std::scoped_lock lock(mutex_);
    ended_ = Clock::now();
  }
  say(std::move(end));
}

void HeldProcess::lose() {
  const std::scoped_lock lock(mutex_);
  ended_ = Clock::now();
  stopping_ = true;
  changed_.notify_all();
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
  const std::scoped_lock lock(process_->mutex_);
  --process_->listeners_;
  process_->changed_.notify_all();
}

std::optional<ProcessEvent> HeldProcess::Listener::next(Clock::time_point deadline) {
  HeldProcess& process = *process_;
  std::unique_lock lock(process.mutex_);
  process.changed_.wait_until(lock, deadline, [&] {
    return process.first_ + process.said_.size() > at_ || process.stopping_;
  });
  at_ = std::max(at_, process.first_);
  if (process.first_ + process.said_.size() <= at_) {
    return std::nullopt;
  }
  ProcessEvent event = process.said_[at_ - process.first_];
  ++at_;
  // What the only listener has had is not kept.
  while (process.listeners_ == 1 && process.first_ < at_ && process.said_.size() > 1) {
    process.bytes_ -= process.said_.front().bytes.size();
    process.said_.pop_front();
    ++process.first_;
  }
  process.changed_.notify_all();
  return event;
}

Result<void> HeldProcess::signal(int signal) {
  if (ended()) {
    return Error(ErrorCode::kNotFound, "process " + std::to_string(pid_) + " has ended");
  }
  return sandbox_.signal_detached(process_, signal);
}

Result<void> HeldProcess::write(std::string_view bytes) {
  const std::scoped_lock lock(input_mutex_);
  const UniqueFd& to = terminal_ ? terminal_ : in_;
  if (!to) {
    return Error(ErrorCode::kConflict,
                 "the standard input of process " + std::to_string(pid_) + " is closed");
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
  if (terminal_) {
    return write("\x04");  // As somebody at the terminal would (VEOF, termios(3)).
  }
  const std::scoped_lock lock(input_mutex_);
  in_.reset();
  return {};
}

Result<void> HeldProcess::resize(ProcessRequest::Terminal size) {
  const winsize dimensions = size_of(size);
  if (!terminal_) {
    return Error(ErrorCode::kConflict, "process " + std::to_string(pid_) + " has no terminal");
  }
  return ::ioctl(terminal_.get(), TIOCSWINSZ, &dimensions) == 0
             ? Result<void>()
             : Error::from_errno("resize a terminal");
}

ProcessInfo HeldProcess::info() const {
  return {.pid = pid_,
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
