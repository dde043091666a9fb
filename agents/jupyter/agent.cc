// SPDX-License-Identifier: Apache-2.0
#include "agent.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <utility>

namespace glovebox::jupyter {
namespace {

using std::chrono::milliseconds;

// Above this, nothing more is read from the kernel until the outside has taken some of it.
constexpr std::size_t kMaxQueuedOutside = 8U << 20;

// Output first, so that it is not behind the reply that it belongs to.
constexpr std::array kReadingOrder{Channel::kIopub, Channel::kShell, Channel::kStdin,
                                   Channel::kControl};

// One channel must not starve the others.
constexpr int kMaxMessagesAtOnce = 64;

// A subscription takes effect some time after the kernel has bound its sockets.
constexpr milliseconds kGreetingInterval(20);

constexpr milliseconds kShutdownGrace(1000);
constexpr milliseconds kLastOutputGrace(50);
constexpr int kDrainMilliseconds = 2000;
constexpr milliseconds kNoDeadline(-1);

}  // namespace

Agent::Agent(AgentOptions options,
             Outside outside,
             UniqueFd signals,
             KernelProcess kernel,
             const Connection& connection,
             const std::string& session)
    : options_(std::move(options)),
      outside_(std::move(outside)),
      signals_(std::move(signals)),
      kernel_(std::move(kernel)),
      channels_(connection, session),
      maker_(session),
      values_(options_.inline_limit),
      executions_(outside_, channels_, maker_, values_, [this] { interrupt_kernel(); }),
      questions_(outside_, channels_, maker_, values_),
      start_deadline_(Clock::now() + options_.start_timeout) {}

int Agent::run() {
  while (state_ != State::kEnding) {
    poll_once();
  }
  shut_down();
  outside_.drain(kDrainMilliseconds);
  return status_;
}

void Agent::poll_once() {
  const bool paused = outside_.queued() > kMaxQueuedOutside;
  // Requests wait in the socket until the kernel is ready; its end is always reported.
  const bool serving = state_ == State::kServing;
  const int outside_events = (serving ? ZMQ_POLLIN : 0) | (outside_.queued() > 0 ? ZMQ_POLLOUT : 0);
  std::vector<zmq::pollitem_t> items{
      {nullptr, outside_.fd(), static_cast<short>(outside_events), 0},
      {nullptr, signals_.get(), ZMQ_POLLIN, 0}};
  for (const Channel channel : kReadingOrder) {
    items.push_back(channels_.monitor_item(channel));
  }
  if (!paused) {
    for (const Channel channel : kReadingOrder) {
      items.push_back(channels_.poll_item(channel));
    }
  }
  zmq::poll(items, time_to_wait());
  if ((items[1].revents & ZMQ_POLLIN) != 0) {
    read_signals();
  }
  if (paused) {
    executions_.postpone(Clock::now());
  } else {
    const std::size_t first = items.size() - kReadingOrder.size();
    for (std::size_t i = 0; i < kReadingOrder.size(); ++i) {
      if ((items[first + i].revents & ZMQ_POLLIN) != 0) {
        read_kernel(kReadingOrder[i]);
      }
    }
  }
  channels_.mend([this](Channel channel) { executions_.handle_loss(channel); });
  if ((items[0].revents & ~ZMQ_POLLOUT) != 0) {
    read_outside();
  }
  if (state_ != State::kEnding) {
    handle_time();
  }
  if (!outside_.flush()) {
    end_with(0);
  }
}

milliseconds Agent::time_to_wait() const {
  std::optional<Clock::time_point> until = executions_.deadline();
  if (state_ == State::kStarting) {
    until = std::min(start_deadline_, next_greeting_.value_or(start_deadline_));
  }
  if (const auto mend_time = channels_.mend_time()) {
    until = std::min(until.value_or(*mend_time), *mend_time);
  }
  if (!until) {
    return kNoDeadline;
  }
  const auto rest = std::chrono::ceil<milliseconds>(*until - Clock::now());
  return std::max(rest, milliseconds(0));
}

void Agent::read_outside() {
  std::vector<Request> requests;
  const auto more = outside_.receive(requests);
  for (const Request& request : requests) {
    handle_request(request);
  }
  if (!more) {
    outside_.note(0, more.error().message());
    end_with(1);
  } else if (!*more) {
    end_with(0);
  }
}

void Agent::handle_request(const Request& request) {
  switch (request.type) {
    case FrameType::kExecute:
      executions_.handle_execute(request);
      return;
    case FrameType::kInput:
      executions_.handle_input(request);
      return;
    case FrameType::kComplete:
    case FrameType::kInspect:
    case FrameType::kIsComplete:
    case FrameType::kCheckpoint:
    case FrameType::kFetch:
    case FrameType::kVariables:
      questions_.handle_request(request);
      return;
    case FrameType::kEnd:
      end_with(0);
      return;
    default:
      outside_.note(request.channel, "a frame of an unknown type was dropped");
  }
}

void Agent::read_signals() {
  signalfd_siginfo signal{};
  while (read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGINT) {
      executions_.interrupt();
    } else if (signal.ssi_signo == SIGTERM) {
      end_with(0);
    } else if (kernel_.reap()) {
      handle_death();
    }
  }
}

void Agent::read_kernel(Channel channel) {
  for (int i = 0; i < kMaxMessagesAtOnce; ++i) {
    const auto message = channels_.receive(channel);
    if (!message) {
      return;
    }
    if (*message) {
      handle_message(channel, **message);
    } else {
      executions_.note_once("dropped", "the kernel sent " + message->error().message());
    }
  }
}

void Agent::handle_message(Channel channel, const Message& message) {
  if (channel == Channel::kIopub) {
    output_connected_ = true;
    executions_.handle_output(message);
  } else if (channel == Channel::kStdin) {
    executions_.handle_stdin(message);
  } else if (channel == Channel::kShell && message.type() == "kernel_info_reply") {
    kernel_info_ = message.content;
    next_greeting_ = Clock::now() + kGreetingInterval;
  } else if (channel == Channel::kShell) {
    executions_.handle_reply(message);
    questions_.handle_reply(message);
  }
  if (state_ == State::kStarting && kernel_info_ && output_connected_) {
    become_ready();
  }
}

void Agent::handle_time() {
  const auto now = Clock::now();
  if (state_ == State::kServing) {
    executions_.handle_time(now);
  } else if (now >= start_deadline_) {
    outside_.note(0, "the kernel did not respond in time");
    end_with(1);
  } else if (next_greeting_ ? now >= *next_greeting_ : !greeted_ && can_be_asked()) {
    greet();
  }
}

// If either is not linked, the input request of the first execution could be lost.
bool Agent::can_be_asked() const {
  return channels_.is_linked(Channel::kShell) && channels_.is_linked(Channel::kStdin);
}

// The kernel's answer shows that it serves; the status that comes with it, that its output arrives.
void Agent::greet() {
  greeted_ = true;
  next_greeting_.reset();
  (void)channels_.send(Channel::kShell, maker_.make("kernel_info_request", Json::object()));
}

void Agent::become_ready() {
  state_ = State::kServing;
  const Json& language = object_at(*kernel_info_, "language_info");
  outside_.send(FrameType::kReady, 0,
                {{"language", string_at(language, "name", options_.spec.language)},
                 {"version", string_at(language, "version")},
                 {"features", {"complete", "inspect", "is_complete", "input", "fetch"}}});
}

void Agent::interrupt_kernel() {
  if (options_.spec.interrupt_mode == InterruptMode::kSignal) {
    kernel_.interrupt();
  } else if (!channels_.send(Channel::kControl, maker_.make("interrupt_request", Json::object()))) {
    executions_.note_once("interrupt", "the kernel does not accept the interrupt");
  }
}

void Agent::handle_death() {
  if (state_ == State::kEnding) {
    return;
  }
  // What it sent before is on its way through ZeroMQ's own thread.
  const auto deadline = Clock::now() + kShutdownGrace;
  for (const Channel channel : {Channel::kIopub, Channel::kShell}) {
    while (outside_.queued() <= kMaxQueuedOutside && Clock::now() < deadline &&
           channels_.wait(channel, kLastOutputGrace)) {
      read_kernel(channel);
    }
  }
  const bool ended_well = kernel_.ended_well() && state_ == State::kServing;
  const bool was_running = executions_.handle_death(kernel_.end());
  end_with(ended_well && !was_running ? 0 : 1);
}

void Agent::shut_down() {
  if (!kernel_.reap() &&
      channels_.send(Channel::kControl, maker_.make("shutdown_request", {{"restart", false}}))) {
    const auto deadline = Clock::now() + kShutdownGrace;
    std::array<zmq::pollitem_t, 1> items{{{nullptr, signals_.get(), ZMQ_POLLIN, 0}}};
    while (!kernel_.reap() && Clock::now() < deadline) {
      zmq::poll(items, std::chrono::ceil<milliseconds>(deadline - Clock::now()));
      read_signals();
    }
  }
  kernel_.kill();
}

void Agent::end_with(int status) {
  if (state_ != State::kEnding) {
    state_ = State::kEnding;
    status_ = status;
  }
}

}  // namespace glovebox::jupyter
