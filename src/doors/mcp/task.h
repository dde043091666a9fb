// SPDX-License-Identifier: Apache-2.0
// Task: a call of a tool that continues without the request that began it. Its client asks how far
// it is, answers what it asks, and fetches the result, with requests of their own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "doors/mcp/call.h"
#include "doors/mcp/conversation.h"
#include "doors/mcp/message.h"
#include "service/api/caller.h"

namespace glovebox::mcp {

// Safe to use from several threads.
class Task {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Status { kWorking, kInputRequired, kCompleted, kFailed, kCanceled };
  // What the client is asked, as a request that it would get in a session.
  struct Question {
    std::string id{};  // Unique within the task, for ever.
    std::string method{};
    Json params{};
  };
  struct State {
    Status status = Status::kWorking;
    std::string note{};  // For people: the last line that was printed, or what failed.
    std::chrono::system_clock::time_point updated{};
    std::vector<Question> questions{};     // That wait for an answer.
    std::shared_ptr<const Reply> reply{};  // Of a task that is completed or has failed.
  };
  // Answers the call that it is given, whose questions and messages go to the task's client.
  using Work = std::function<Reply(const Call& call)>;

  // Begins to work in a thread of its own. Until detach(), its notifications go where those of
  // `call` go; `call` must live until then.
  Task(const Call& call, std::chrono::milliseconds time_to_live, Work work);
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task();  // Cancels it, and waits for its end.

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] bool belongs_to(const Caller& caller) const {
    return caller_.tenant == caller.tenant && caller_.key == caller.key;
  }
  [[nodiscard]] const std::string& tenant() const { return caller_.tenant; }
  [[nodiscard]] std::chrono::system_clock::time_point created() const { return created_; }
  // Counted from its creation; once it is over, the task may be dropped.
  [[nodiscard]] std::chrono::milliseconds time_to_live() const { return time_to_live_; }
  [[nodiscard]] bool expired() const { return Clock::now() - began_ > time_to_live_; }

  [[nodiscard]] State state() const;
  [[nodiscard]] bool is_over() const;
  // The size of what it keeps after its end.
  [[nodiscard]] std::size_t bytes() const;
  // The end of what it has printed, and how many bytes that was in all.
  [[nodiscard]] std::string printed() const;
  [[nodiscard]] std::uint64_t printed_bytes() const;
  // How many times its status or its questions have changed, plus one.
  [[nodiscard]] std::uint64_t changes() const;

  // The request that began it gets no more notifications.
  void detach();
  // Waits until the task is over or asks something, the wait is canceled, or the deadline passes.
  void wait(const Cancellation& cancellation, Clock::time_point deadline) const;
  // Whether the question still waits.
  [[nodiscard]] bool asks(std::string_view question) const;
  // Ignored if the question does not wait.
  void answer(std::string_view question, const Params& response);
  // It is canceled from now on, unless it is over; what it runs ends within a second or two.
  void cancel();

 private:
  void run(const Work& work);
  [[nodiscard]] Outlet outlet();
  void note_question(Question question);
  bool forget_question(std::string_view question);
  void note_printed(std::string_view text);
  // These require the mutex.
  void change(Status status);
  [[nodiscard]] bool is_over_now() const {
    return status_ != Status::kWorking && status_ != Status::kInputRequired;
  }

  const std::string id_;
  const Message message_;
  const std::string version_;
  const Params client_capabilities_;
  const Caller caller_;
  const std::chrono::milliseconds time_to_live_;
  const std::chrono::system_clock::time_point created_ = std::chrono::system_clock::now();
  const Clock::time_point began_ = Clock::now();
  Conversation conversation_;
  const std::unique_ptr<Conversation::Entry> entry_;
  std::mutex attached_mutex_;
  const Call* attached_;  // Null after the response to the request that began it.
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Status status_ = Status::kWorking;
  std::chrono::system_clock::time_point updated_ = created_;
  std::string printed_;  // The end of it.
  std::uint64_t printed_bytes_ = 0;
  std::uint64_t changes_ = 1;
  std::vector<Question> questions_;
  std::shared_ptr<const Reply> reply_;
  std::size_t bytes_ = 0;
  std::thread thread_;
};

}  // namespace glovebox::mcp
