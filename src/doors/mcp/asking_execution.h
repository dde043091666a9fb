// SPDX-License-Identifier: Apache-2.0
// AskingExecution: code that runs in a context and may ask for lines of input.
//
// It runs in a thread of its own, so that it goes on while its client is asked, also between two
// requests of a client without sessions (ParkedExecutions).
#pragma once

#include <atomic>
#include <chrono>
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
#include "service/api/caller.h"
#include "service/api/sandbox_service.h"

namespace glovebox::mcp {

// Safe to use from several threads.
class AskingExecution {
 public:
  struct Place {
    std::string sandbox{};
    std::string context{};
  };
  // A person answers each of them.
  static constexpr std::size_t kMostQuestions = 100;

  // Begins. The service outlives it. `ended` is called once, from another thread.
  AskingExecution(SandboxService& service,
                  Caller caller,
                  Place place,
                  ExecuteRequest request,
                  std::function<void()> ended);
  AskingExecution(const AskingExecution&) = delete;
  AskingExecution& operator=(const AskingExecution&) = delete;
  ~AskingExecution();  // Interrupts the code, and waits for its end.

  [[nodiscard]] const Place& place() const { return place_; }

  enum class Stop { kAsks, kEnded, kCanceled };
  // Waits until there is a question or the end. `progress` gets what is printed meanwhile.
  Stop wait(const Cancellation& cancellation, OutputProgress& progress);

  // The prompt of the oldest question that nobody has answered; nothing where there is none. What
  // asks for a password is never among them: it finds the end of input.
  [[nodiscard]] std::optional<std::string> question() const;
  // The line, or the end of input, for that question.
  void answer(const std::optional<std::string>& line);

  [[nodiscard]] bool ended() const { return ended_; }
  // After the end. Null when the sandbox ended before there was one.
  Result<Json> verdict();
  // The code, where it still runs, is interrupted within a second or two.
  void interrupt() { interrupted_ = true; }

 private:
  struct Question {
    std::uint64_t request = 0;
    std::string prompt{};
    bool is_answerable = true;
  };
  void run(const ExecuteRequest& request);
  bool take(std::string_view event);
  void reply_to_unanswerable();

  SandboxService& service_;
  const Caller caller_;
  const Place place_;
  const std::function<void()> on_end_;
  const UniqueFd changed_;
  std::atomic<bool> interrupted_ = false;
  std::atomic<bool> ended_ = false;
  std::mutex replying_;  // Replies go in the order of the questions.
  mutable std::mutex mutex_;
  std::string printed_;
  std::deque<Question> questions_;
  std::size_t asked_ = 0;
  Result<Json> verdict_ = Json();
  std::thread thread_;
};

// Executions whose clients were asked in the response to a request, and answer with another one.
// Safe to use from several threads.
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
  // kNotFound for what is not parked, is another caller's, or was asked for with other arguments.
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
  // Requires the mutex. Those that nobody came back for; to be destroyed without it.
  std::vector<Parked> stale();

  const RequestState states_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::string, Parked, std::less<>> parked_;
};

}  // namespace glovebox::mcp
