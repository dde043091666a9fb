// SPDX-License-Identifier: Apache-2.0
#include "context/executing.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace glovebox {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::microseconds;

// How long code may take to react to an interrupt before its process is killed; and how long at
// most if its sandbox got less than this share of a processor meanwhile, as on a starved machine.
constexpr auto kGrace = 500ms;
constexpr auto kGraceCpu = 250ms;
constexpr auto kLongestGrace = 1000ms;
// Instead of all that, if processors are emulated.
constexpr auto kEmulatedGrace = 4s;
constexpr auto kInterruptAgain = 100ms;
// How often counters are looked at while it runs.
constexpr auto kCheckEvery = 50ms;
// An execution shorter than this cannot have used much, and looking would cost more than it did.
constexpr auto kWorthMeasuring = 2ms;
// The beginning of a cell that is over by then goes along with its end, and wakes nobody.
constexpr auto kLonelyStart = 1ms;
// How long a process may take to be gone after it was killed.
constexpr auto kTimeToBeGone = 5s;

// What results may hold of our memory, before they are dropped.
constexpr std::size_t kMaxResults = 64UL << 20;
constexpr std::size_t kMaxResultCount = 1'000;

std::size_t size_of(const Event& event) {
  std::size_t size = event.metadata.size() + event.display_id.size();
  for (const auto& [type, value] : event.data) {
    size += type.size() + value.size();
  }
  return size;
}

}  // namespace

Executing::Executing(Context& context, const ExecuteOptions& options)
    : context_(context),
      options_(options),
      channel_(context.next_channel_++),
      start_(now()),
      used_(context.sandbox_),
      out_(options.limits.output),
      err_(options.limits.output),
      next_check_(start_ + kCheckEvery) {}

Executing::~Executing() {
  if (options_.requests != nullptr) {
    (void)options_.requests->close();  // However this ends, nobody replies to it any more.
  }
}

Result<Execution> Executing::run() {
  const agent::ExecuteRequest request{.code = options_.code,
                                      .silent = options_.silent,
                                      .store_history = options_.store_history,
                                      .env = &options_.env,
                                      .tools = &options_.tools.tools};
  context_.link_.send(agent::Request::kExecute, channel_, agent::encode(request));
  context_.between_size_ = 0;
  for (Event& event : std::exchange(context_.between_, {})) {
    take_event(std::move(event));
  }
  while (!done_ && !wait_status_) {
    if (!link_lost_) {
      if (!context_.link_.flush()) {
        link_lost_ = true;
      }
    }
    wait_for_something();
    pass_answers();
    if (!link_lost_ && !held_up()) {
      if (auto taken = take_messages(); !taken) {
        link_lost_ = true;
        if (taken.error().code() == ErrorCode::kInvalid) {
          broke_protocol_ = true;
          execution_.notes.push_back(taken.error().message());
        }
        // Nothing more can be said to it: we end it if it does not end by itself.
        kill_at_ = std::min(kill_at_, now() + kGrace);
      }
    }
    if (!done_) {
      check_limits();
      (void)has_ended();
    }
  }
  settle();
  if (options_.requests != nullptr) {
    // What still waits for an answer, without holding up the code, finds the end of input.
    for (std::size_t open = options_.requests->close(); open > 0 && done_; --open) {
      context_.link_.send(agent::Request::kInput, channel_, agent::encode_input(nullptr));
    }
  }
  if (wait_status_ && !started_ && cause_ == Cause::kItself && !broke_protocol_) {
    // It had ended before: that is the end of an earlier execution, not of this one.
    context_.ended_ = true;
    return Error(ErrorCode::kConflict, "the interpreter has ended", "start a new context");
  }
  return judge();
}

bool Executing::held_up() const {
  return cause_ == Cause::kItself && options_.outlet != nullptr && options_.outlet->full();
}

Executing::Clock::time_point Executing::pass_on() {
  if (options_.outlet == nullptr) {
    return Clock::time_point::max();
  }
  const Clock::time_point until = start_ + kLonelyStart;
  if (only_started_ && now() < until) {
    return until;
  }
  options_.outlet->pass_on();
  return Clock::time_point::max();
}

void Executing::wait_for_something() {
  const Clock::time_point passes_on = pass_on();
  const bool waits = passes_on == Clock::time_point::max();
  const bool takes = !held_up();
  const auto taken_from = [takes](const UniqueFd& fd) { return takes ? fd.get() : -1; };
  const auto link_events =
      static_cast<short>((takes ? POLLIN : 0) | (context_.link_.has_unsent() ? POLLOUT : 0));
  const std::array<pollfd, 2> process = context_.process_->watch();
  std::array<pollfd, 8> polled = {{
      {link_lost_ || link_events == 0 ? -1 : context_.link_.fd(), link_events, 0},
      {taken_from(context_.streams_.out), POLLIN, 0},
      {taken_from(context_.streams_.err), POLLIN, 0},
      {cause_ == Cause::kItself ? options_.cancel_fd : -1, POLLIN, 0},
      {waits && options_.outlet != nullptr ? options_.outlet->waits_for() : -1, POLLOUT, 0},
      process[0],
      process[1],
      {takes_answers() ? options_.requests->fd() : -1, POLLIN, 0},
  }};
  Clock::time_point until = std::min({next_check_, kill_at_, passes_on});
  if (cause_ == Cause::kItself) {
    until = std::min(until, deadline());
  }
  // A clock that stands still reaches nothing, however close it is.
  const auto least = context_.sandbox_.paused() ? microseconds(kCheckEvery) : 0us;
  const auto left = std::max(least, duration_cast<microseconds>(until - now()));
  const timespec timeout{.tv_sec = static_cast<time_t>(left.count() / 1'000'000),
                         .tv_nsec = static_cast<long>(left.count() % 1'000'000) * 1000};
  if (::ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0) {
    return;
  }
  if (polled[1].revents != 0 || polled[2].revents != 0) {
    drain_streams();
  }
  if (polled[3].revents != 0) {
    interrupt(Cause::kCanceled);
  }
}

void Executing::settle() {
  AgentProcess& process = *context_.process_;
  process.settle();
  const Clock::time_point deadline = now() + kTimeToBeGone;
  while (!process.settled() && now() < deadline) {
    const std::array<pollfd, 2> watched = process.watch();
    std::array<pollfd, 4> polled = {{{context_.streams_.out.get(), POLLIN, 0},
                                     {context_.streams_.err.get(), POLLIN, 0},
                                     watched[0],
                                     watched[1]}};
    (void)::poll(polled.data(), polled.size(), static_cast<int>(kCheckEvery.count()));
    drain_streams();
  }
  drain_streams();
}

void Executing::drain_streams() {
  drain(context_.streams_.out, Event::Kind::kStdout);
  drain(context_.streams_.err, Event::Kind::kStderr);
}

void Executing::drain(const UniqueFd& stream, Event::Kind kind) {
  std::array<char, 16 * 1024> bytes;
  // Bounded, so that a flood cannot keep the limits from being checked.
  for (int round = 0; stream && round < 64; ++round) {
    const ssize_t got = ::read(stream.get(), bytes.data(), bytes.size());
    if (got <= 0) {
      return;
    }
    show({.kind = kind, .text = std::string(bytes.data(), static_cast<std::size_t>(got))});
  }
}

Result<bool> Executing::take_messages() {
  for (int count = 0; count < 64 && !done_; ++count) {
    const auto message = GB_TRY(context_.link_.poll_message());
    if (!message) {
      return false;
    }
    // What was written past the agent before it sent this message comes first.
    drain_streams();
    GB_TRY(take(*message));
    if (held_up() && !wait_status_) {
      return true;  // Calls of tools must not be dropped for what comes behind them.
    }
  }
  return !done_;
}

Result<void> Executing::take(const AgentLink::Message& message) {
  if (execution_.first_event.count() == 0) {
    execution_.first_event = duration_cast<microseconds>(now() - start_);
  }
  switch (message.type) {
    case agent::Reply::kDone:
      if (message.channel == channel_) {
        done_ = GB_TRY(agent::decode_done(message.payload));
      }
      return {};
    case agent::Reply::kReply:
    case agent::Reply::kReady:
      return {};  // The late answer to a question that nobody waits for.
    case agent::Reply::kToolCall:
      open_call(GB_TRY(agent::decode_tool_call(message.payload)));
      return {};
    default:
      take_event(GB_TRY(agent::decode_event(message.type, message.payload)));
      return {};
  }
}

void Executing::take_event(Event event) {
  switch (event.kind) {
    case Event::Kind::kStarted:
      execution_.execution_count = event.execution_count;
      started_ = true;
      break;
    case Event::Kind::kError:
      execution_.error = event.error;
      break;
    case Event::Kind::kNote:
      if (execution_.notes.size() < 100) {
        execution_.notes.push_back(printable(event.text.substr(0, 1000)));
      }
      break;
    case Event::Kind::kInputRequest:
      if (!open_input(event)) {
        return;
      }
      break;
    default:
      break;
  }
  show(event);
  if (event.kind == Event::Kind::kDisplay || event.kind == Event::Kind::kResult) {
    const std::size_t size = size_of(event);
    if (results_size_ + size <= kMaxResults && execution_.results.size() < kMaxResultCount &&
        (!options_.may_keep || options_.may_keep(size))) {
      results_size_ += size;
      execution_.results.push_back(std::move(event));
    } else if (std::ranges::find(execution_.hits, "output") == execution_.hits.end()) {
      execution_.hits.emplace_back("output");
      execution_.notes.emplace_back(
          "dropped results beyond 64 MiB, 1,000 results, or what the sandbox may keep");
    }
  }
}

void Executing::show(const Event& event) {
  only_started_ = event.kind == Event::Kind::kStarted;
  if (event.kind == Event::Kind::kStdout) {
    out_.write(event.text);
  } else if (event.kind == Event::Kind::kStderr) {
    err_.write(event.text);
  }
  if (options_.observer) {
    options_.observer(event);
  }
}

void Executing::check_limits() {
  const Clock::time_point time = now();
  if (time >= kill_at_) {
    if (!is_starved(time)) {
      kill();
      return;
    }
    kill_at_ = time + kInterruptAgain;
  }
  if (cause_ != Cause::kItself && time >= next_check_) {
    // The first one may have come between two steps of the interpreter that do not look.
    (void)context_.process_->signal(SIGINT);
    next_check_ = time + kInterruptAgain;
    return;
  }
  if (cause_ == Cause::kItself && time >= deadline()) {
    interrupt(Cause::kWall);
    return;
  }
  if (time < next_check_) {
    return;
  }
  next_check_ = time + kCheckEvery;
  (void)context_.sandbox_.end_hoarders();
  if (cause_ == Cause::kItself && options_.limits.cpu_time.count() > 0 &&
      used_.cpu().value_or(0us) >= options_.limits.cpu_time) {
    interrupt(Cause::kCpu);
  }
}

void Executing::interrupt(Cause cause) {
  cause_ = cause;
  if (options_.requests != nullptr) {
    (void)options_.requests->close();  // From here on nobody can answer.
  }
  (void)context_.process_->signal(SIGINT);
  interrupted_at_ = now();
  cpu_when_interrupted_ = used_.cpu().value_or(0us);
  next_check_ = interrupted_at_ + kInterruptAgain;
  kill_at_ = interrupted_at_ +
             (context_.sandbox_.features().emulated ? microseconds(kEmulatedGrace) : kGrace);
}

bool Executing::is_starved(Clock::time_point time) const {
  if (cause_ == Cause::kItself || link_lost_ || time >= interrupted_at_ + kLongestGrace) {
    return false;
  }
  const auto cpu = used_.cpu();
  return cpu && *cpu < cpu_when_interrupted_ + kGraceCpu;
}

void Executing::kill() {
  kill_at_ = Clock::time_point::max();
  killed_ = true;
  killed_at_ = now();
  (void)context_.process_->signal(SIGKILL);
}

bool Executing::has_ended() {
  if (!wait_status_) {
    wait_status_ = context_.process_->wait_status();
  }
  if (!wait_status_ && killed_ && now() >= killed_at_ + kTimeToBeGone) {
    wait_status_ = SIGKILL;
  }
  if (wait_status_ && !link_lost_) {
    // Its last words. A process that it left behind may hold its socket, and never fall silent.
    const auto until = std::chrono::steady_clock::now() + kTimeToBeGone;
    for (bool more = true; more && std::chrono::steady_clock::now() < until;) {
      const auto taken = take_messages();
      more = taken && taken.value();
    }
  }
  return wait_status_.has_value();
}

Execution Executing::judge() {
  Execution execution = std::move(execution_);
  execution.out = out_.finish();
  execution.err = err_.finish();
  if (execution.out.truncated || execution.err.truncated) {
    execution.hit("output");
  }
  measure(execution);
  if (done_) {
    execution.status = done_->status == agent::Done::Status::kOk ? Status::kOk : Status::kError;
    execution.exit_code = execution.status == Status::kOk ? 0 : 1;
    if (done_->status == agent::Done::Status::kAborted) {
      execution.status = Status::kCanceled;
    }
    if (done_->execution_count > 0) {
      execution.execution_count = done_->execution_count;
    }
  }
  judge_end(execution);
  if (wait_status_) {
    context_.ended_ = true;
    execution.notes.emplace_back("the interpreter has ended and its variables are lost");
  }
  return execution;
}

void Executing::judge_end(Execution& execution) const {
  const bool memory_hit = used_.ran_out_of_memory();
  const bool pids_hit = used_.ran_out_of_pids();
  std::string_view hoard_hit;
  if (memory_hit) {
    execution.hit("memory");
  }
  if (pids_hit) {
    execution.hit("pids");
  }
  for (const std::string_view hoard : used_.hoards()) {
    hoard_hit = hoard;
    execution.hit(hoard);
  }
  if (wait_status_) {
    execution.set_end(*wait_status_);
    execution.status = execution.signal           ? Status::kSignaled
                       : execution.exit_code == 0 ? Status::kOk
                                                  : Status::kError;
  }
  // An answer that came all the same counts as the guest's own end, unless we made it fail.
  const bool unharmed = done_ && done_->status == agent::Done::Status::kOk;
  if ((memory_hit || !hoard_hit.empty()) && wait_status_) {
    execution.status = Status::kOutOfMemory;
    execution.limit = memory_hit ? "" : hoard_hit;
  } else if (cause_ == Cause::kWall && !unharmed) {
    execution.time_out("time");
  } else if (cause_ == Cause::kCpu && !unharmed) {
    execution.time_out("cpu_time");
  } else if (cause_ == Cause::kCanceled && !unharmed) {
    execution.status = Status::kCanceled;
  } else if (pids_hit && execution.status == Status::kError) {
    execution.status = Status::kPidsLimit;
  }
}

void Executing::measure(Execution& execution) const {
  execution.usage.wall = duration_cast<microseconds>(now() - start_);
  const Meter& meter = context_.sandbox_.meter();
  if (execution.usage.wall >= kWorthMeasuring || wait_status_) {
    execution.usage.cpu = used_.cpu().value_or(0us);
    execution.usage.memory_peak = meter.memory_peak().value_or(Bytes{0});
    execution.usage.pids_peak = meter.pids_peak().value_or(0);
  }
}

}  // namespace glovebox
