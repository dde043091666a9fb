// SPDX-License-Identifier: Apache-2.0
// AskingExecution: a call of the service that may ask its client: the code asks for lines of input,
// and a policy asks whether it may run at all.
//
// It runs in a thread of its own, so that it continues while its client is asked, also between two
// requests of a client without sessions (ParkedExecutions).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "doors/mcp/cancellation.h"
#include "doors/mcp/message.h"
#include "doors/mcp/progress.h"
#include "doors/mcp/request_state.h"
#include "service/api/approval_desk.h"
#include "service/api/caller.h"
#include "service/api/event_sink.h"
#include "service/api/sandbox_service.h"

namespace glovebox::mcp {

// An event of the service. It leaves out of a verdict what no tool result shows and most of the
// text consists of: walls, limits, usage, times.
Json told_event(std::string_view text);

// What the client's user is told while an event "approval_needed" waits for somebody else; empty
// for other events.
std::string waiting_note(const Json& event);

// Safe to use from several threads.
class AskingExecution {
 public:
  // Where its code runs; both are empty if no sandbox is kept, and the context is empty if the code
  // cannot ask for input.
  struct Place {
    std::string sandbox{};
    std::string context{};
  };
  // Calls the service, which passes its events to `sink`.
  using Work = std::function<Result<void>(const EventSink& sink)>;
  // Where approvals are decided, by callers with the scope for it.
  struct Desks {
    SandboxService& service;
    ApprovalDesk* approvals;  // Null: there are none.
  };
  struct Question {
    std::uint64_t number = 0;   // Of this execution, from 1.
    std::uint64_t request = 0;  // Of input.
    std::string prompt{};
    std::optional<Approval> approval{};  // Nothing: the question is another.
    // What a dry run has changed, as JSON, if the question is whether to keep that; else empty.
    // With neither this nor an approval, the question is for a line of input.
    std::string dry_run{};
  };
  // A person answers each of them.
  static constexpr std::size_t kMostQuestions = 100;

  // Begins. What the desks name outlives it. `changed` is called from another thread when the
  // execution has ended, or a question became moot.
  AskingExecution(
      Desks desks, Caller caller, Place place, Work work, std::function<void()> changed);
  AskingExecution(const AskingExecution&) = delete;
  AskingExecution& operator=(const AskingExecution&) = delete;
  ~AskingExecution();  // Interrupts the work, and waits for its end.

  [[nodiscard]] const Place& place() const { return place_; }

  enum class Stop { kAsks, kEnded, kCanceled };
  // Waits until there is a question or the end. `progress` gets what is printed meanwhile.
  Stop wait(const Cancellation& cancellation, OutputProgress& progress);

  // The oldest question that nobody has answered; nothing if there is none. A request for a
  // password is never among them: it gets the end of input. Nor is an approval that the caller
  // cannot give.
  [[nodiscard]] std::optional<Question> question() const;
  // Whether the question still waits.
  [[nodiscard]] bool asks(std::uint64_t number) const;
  // Each does nothing if the question no longer waits.
  // The line, or the end of input.
  void answer(std::uint64_t number, const std::optional<std::string>& line);
  // The decision about an approval.
  void decide(std::uint64_t number, bool agree, bool remember);
  // Whether the sandbox keeps what a dry run has changed.
  void conclude(std::uint64_t number, bool keep);
  // Leaves it to others, who may have been asked as well.
  void pass_over(std::uint64_t number);

  [[nodiscard]] bool ended() const { return ended_; }
  // After the end. Null when the sandbox ended before there was one.
  Result<Json> verdict();
  // Interrupts the work within a second or two, if it still runs.
  void interrupt() { interrupted_ = true; }

 private:
  struct Waiting {
    Question question{};
    bool is_answerable = true;
  };
  void run(const Work& work);
  bool take(std::string_view event);
  // Requires the mutex; whether some question is moot now.
  bool note_event(const std::string& type, Json event, std::optional<Approval> approval);
  std::optional<Question> pop(std::uint64_t number);
  [[nodiscard]] std::optional<Approval> approval_of(const Json& event) const;
  void reply_to_unanswerable();
  // If the verdict is of a dry run that waits, asks about it and does what the client says.
  void ask_about_dry_run();
  bool dry_run_waits(const std::string& id);

  const Desks desks_;
  const Caller caller_;
  const Place place_;
  const std::function<void()> on_change_;
  const UniqueFd changed_;
  std::atomic<bool> interrupted_ = false;
  std::atomic<bool> ended_ = false;
  std::mutex replying_;  // Replies go in the order of the questions.
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<bool> keep_;
  std::string printed_;
  std::deque<Waiting> questions_;
  std::uint64_t asked_ = 0;
  Result<Json> verdict_ = Json();
  std::thread thread_;
};

// Executions whose clients were asked in the response to a request, and answer with another
// request. Safe to use from several threads.
class ParkedExecutions {
 public:
  static constexpr std::size_t kMost = 256;
  static constexpr std::size_t kMostOfTenant = 16;
  // How long the verdict of one that has ended waits for its client.
  static constexpr std::chrono::minutes kPatience{5};

  ParkedExecutions() = default;
  ParkedExecutions(const ParkedExecutions&) = delete;
  ParkedExecutions& operator=(const ParkedExecutions&) = delete;
  ~ParkedExecutions();

  // Keeps the execution for the request of the same caller that shows the returned state, with the
  // same `arguments`. Nothing when there are too many: then it stays with the caller.
  std::optional<std::string> park(const Caller& caller,
                                  const std::string& arguments,
                                  std::unique_ptr<AskingExecution>& execution);
  // kNotFound if it is not parked, is another caller's, or was asked for with other arguments.
  Result<std::unique_ptr<AskingExecution>> take(const Caller& caller,
                                                const std::string& arguments,
                                                std::string_view state);

 private:
  using Clock = std::chrono::steady_clock;
  struct Parked {
    std::string tenant;
    std::string key;
    std::string arguments;
    std::unique_ptr<AskingExecution> execution;
    Clock::time_point since;
  };
  // Requires the mutex. Returns those that nobody came back for; destroy them without it.
  std::vector<Parked> stale();

  const RequestState states_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::string, Parked, std::less<>> parked_;
};

}  // namespace glovebox::mcp
