// SPDX-License-Identifier: Apache-2.0
// Executing: one execution in a context, from the request until its end is judged.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "context/context.h"
#include "sandbox/output.h"
#include "sandbox/used_since.h"

namespace glovebox {

class Executing {
 public:
  // Both must outlive it.
  Executing(Context& context, const ExecuteOptions& options);
  Executing(const Executing&) = delete;
  Executing& operator=(const Executing&) = delete;
  ~Executing();

  Result<Execution> run();

 private:
  using Clock = GuestClock::Base;

  // Why we ended it, if we did.
  enum class Cause { kItself, kWall, kCpu, kCanceled };

  // Takes some of the messages that have come. True if there may be more.
  Result<bool> take_messages();
  Result<void> take(const AgentLink::Message& message);
  void take_event(Event event);
  // Whether to tell the observer.
  bool open_input(Event& event);
  void open_call(const agent::ToolCall& call);
  // Why nobody is asked to answer it; empty if somebody is.
  [[nodiscard]] std::string refusal_of(const agent::ToolCall& call) const;
  // Whether the agent reads what it was sent before.
  [[nodiscard]] bool takes_answers() const;
  void pass_answers();
  // Takes all that was written to its streams before it was done.
  void settle();
  void drain_streams();
  void drain(const UniqueFd& stream, Event::Kind kind);
  void show(const Event& event);
  // By the clock of the sandbox, like all times here.
  [[nodiscard]] Clock::time_point now() const { return context_.sandbox_.clock().now(); }
  // Whether to take nothing from the guest, because nobody takes what it has said before.
  [[nodiscard]] bool held_up() const;
  // Passes on what it can now. Returns until when to wait at most before calling it again.
  Clock::time_point pass_on();
  void wait_for_something();
  // When its time is over, as of now. Open calls extend it, for as long as the offer says.
  [[nodiscard]] Clock::time_point deadline() const;
  void check_limits();
  void interrupt(Cause cause);
  // Whether the interpreter has hardly run since it was interrupted.
  [[nodiscard]] bool is_starved(Clock::time_point time) const;
  void kill();
  bool has_ended();
  Execution judge();
  void judge_end(Execution& execution) const;
  void measure(Execution& execution) const;

  Context& context_;
  const ExecuteOptions& options_;
  const std::uint32_t channel_;
  const Clock::time_point start_;
  const UsedSince used_;
  OutputCapture out_;
  OutputCapture err_;
  Execution execution_;
  std::size_t results_size_ = 0;

  std::uint32_t calls_ = 0;       // To tools, so far.
  std::uint32_t open_calls_ = 0;  // Of those, without an answer.
  Clock::time_point open_since_{};
  Clock::duration waited_{};  // While calls were open, before the ones that are open now.

  Cause cause_ = Cause::kItself;
  Clock::time_point next_check_;
  Clock::time_point kill_at_ = Clock::time_point::max();
  Clock::time_point interrupted_at_;
  std::chrono::microseconds cpu_when_interrupted_{0};
  std::optional<agent::Done> done_;
  std::optional<int> wait_status_;
  bool started_ = false;       // The agent has taken the code.
  bool only_started_ = false;  // And nothing was shown since.
  Clock::time_point killed_at_{};
  bool killed_ = false;
  bool link_lost_ = false;
  bool broke_protocol_ = false;
};

}  // namespace glovebox
