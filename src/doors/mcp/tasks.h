// SPDX-License-Identifier: Apache-2.0
// Tasks: those of one server, and the methods by which clients follow them.
//
// Two generations of the protocol have tasks: in revision 2025-11-25 the client asks for one; in
// the extension of revision 2026-07-28 the server decides. Here they are the same.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/mcp/call.h"
#include "doors/mcp/message.h"
#include "doors/mcp/task.h"

namespace glovebox::mcp {

inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

// Safe to use from several threads.
class Tasks {
 public:
  // Tasks under way.
  static constexpr std::size_t kMostAtWork = 256;
  static constexpr std::size_t kMostAtWorkOfTenant = 16;
  // Including finished ones, whose results are kept. Beyond that, the oldest are dropped.
  static constexpr std::size_t kMost = 4'096;
  static constexpr std::size_t kMostOfTenant = 256;
  static constexpr std::size_t kMostBytes = 256UL << 20;
  static constexpr std::size_t kMostBytesOfTenant = 64UL << 20;
  // More than the longest time that a call may take.
  static constexpr std::chrono::hours kTimeToLive{2};

  // Null when its tenant, or this machine, has too many under way.
  std::shared_ptr<Task> begin(const Call& call,
                              std::chrono::milliseconds time_to_live,
                              Task::Work work);
  // Null when it is gone, or is somebody else's.
  [[nodiscard]] std::shared_ptr<Task> find(const Caller& caller, std::string_view id);
  // Those of the caller, oldest first.
  [[nodiscard]] std::vector<std::shared_ptr<Task>> all(const Caller& caller);
  void remove(const Task& task);

 private:
  // Removes and returns tasks that have expired, and those beyond the bounds. Requires the mutex;
  // destroy them after its release, because that may wait.
  std::vector<std::shared_ptr<Task>> sweep(std::string_view tenant);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Task>> tasks_;  // Oldest first.
};

// How a call of a tool may become a task.
struct TaskUse {
  bool required = false;  // Its result comes in no other way.
  // How long a client waits for the result before it gets a task instead, if we decide.
  std::chrono::milliseconds patience{0};
};

// Whether the client of the call takes a task for its result.
bool takes_task(const Call& call);
// Answers a call of a tool by a task, or by its result if it comes soon enough; `work` answers it
// without one.
Reply call_as_task(const Call& call, Tasks& tasks, const TaskUse& use, const Task::Work& work);
// The error for a call that needs a task, from a client that does not support them.
RpcError needs_tasks();

// The task as the extension writes it, with what it asks or its outcome.
Json detail_of_task(const Task& task);
// The resource that is the end of what a task has printed, and that task; null if there is none.
std::string uri_of_output(const Task& task);
bool is_uri_of_output(std::string_view uri);
std::shared_ptr<Task> task_of_output(const Caller& caller, Tasks& tasks, std::string_view uri);

// Answers a method about tasks, or about what one has printed; nothing for other methods.
std::optional<Reply> answer_about_tasks(const Call& call, Tasks& tasks);
// Whether the method may wait for a task.
bool waits_for_task(std::string_view method);

}  // namespace glovebox::mcp
