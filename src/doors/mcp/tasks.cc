// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tasks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/time_text.h"

namespace glovebox::mcp {
namespace {

constexpr std::chrono::milliseconds kPollTasksEvery{1'000};
constexpr std::chrono::minutes kLeastTimeToLive{1};
constexpr std::string_view kOutputs = "glovebox://task/";
constexpr std::string_view kRelated = "io.modelcontextprotocol/related-task";

std::string_view name_of(Task::Status status) {
  constexpr std::array<std::string_view, 5> kNames = {"working", "input_required", "completed",
                                                      "failed", "cancelled"};
  return kNames.at(static_cast<std::size_t>(status));
}

// As each generation writes it.
Json summary_of(const Task& task, const Task::State& state, bool stateless) {
  Json json{{"taskId", task.id()}, {"status", name_of(state.status)}};
  if (!state.note.empty()) {
    json["statusMessage"] = state.note;
  }
  json["createdAt"] = to_rfc3339(task.created());
  json["lastUpdatedAt"] = to_rfc3339(state.updated);
  json[stateless ? "ttlMs" : "ttl"] = task.time_to_live().count();
  json[stateless ? "pollIntervalMs" : "pollInterval"] = kPollTasksEvery.count();
  return json;
}

}  // namespace

Json detail_of_task(const Task& task) {
  const Task::State state = task.state();
  Json json = summary_of(task, state, true);
  for (const Task::Question& each : state.questions) {
    json["inputRequests"][each.id] = {{"method", each.method}, {"params", each.params}};
  }
  if (state.reply) {
    if (const auto* const error = std::get_if<RpcError>(state.reply.get())) {
      json["error"] = error_json(*error);
    } else {
      json["result"] = std::get<Json>(*state.reply);
      json["result"]["resultType"] = "complete";
    }
  }
  return json;
}

std::string uri_of_output(const Task& task) { return std::string(kOutputs) + task.id(); }

bool is_uri_of_output(std::string_view uri) { return uri.starts_with(kOutputs); }

std::shared_ptr<Task> task_of_output(const Caller& caller, Tasks& tasks, std::string_view uri) {
  return is_uri_of_output(uri) ? tasks.find(caller, uri.substr(kOutputs.size())) : nullptr;
}

namespace {

Reply unknown_task() {
  return RpcError{.code = code::kInvalidParams,
                  .message = "no such task: it was never there, or its time is over"};
}

Json printed_by(const Task& task, const std::string& uri) {
  return {{"contents", Json::array({{{"uri", uri},
                                     {"mimeType", "text/plain"},
                                     {"text", AnsiStripper().strip(to_utf8(task.printed()))}}})}};
}

// The result of the task, once it is over; meanwhile its client is asked what it asks.
Reply result_of_task(const Call& call, Task& task) {
  const Json related{{"taskId", task.id()}};
  while (!task.is_over() && !call.cancellation().canceled()) {
    task.wait(call.cancellation(), Task::Clock::time_point::max());
    for (const Task::Question& each : task.state().questions) {
      Json params = each.params;
      params["_meta"][std::string(kRelated)] = related;
      auto response = call.ask(each.method, params, [&] { return !task.asks(each.id); });
      if (response) {
        task.answer(each.id, *response);
      } else if (response.error().code() == ErrorCode::kRefused) {
        task.answer(each.id, {{"action", "cancel"}});
      }
    }
  }
  const auto reply = task.state().reply;
  if (!reply) {
    return RpcError{.code = code::kInvalidParams, .message = "the task was canceled"};
  }
  Reply result = *reply;
  if (auto* const json = std::get_if<Json>(&result)) {
    (*json)["_meta"][std::string(kRelated)] = related;
  }
  return result;
}

// What a client wants in 2025-11-25, within bounds.
std::chrono::milliseconds wanted_time(const Call& call) {
  const Params& task = call.params().at("task");
  const auto wanted = task.find("ttl");
  if (wanted == task.end() || !wanted->is_number_unsigned()) {
    return Tasks::kTimeToLive;
  }
  constexpr std::chrono::milliseconds kMost = Tasks::kTimeToLive;
  const auto most = static_cast<std::uint64_t>(kMost.count());
  return std::max<std::chrono::milliseconds>(
      kLeastTimeToLive, std::chrono::milliseconds(std::min(wanted->get<std::uint64_t>(), most)));
}

std::optional<Reply> answer_in_session(const Call& call,
                                       Tasks& tasks,
                                       const std::shared_ptr<Task>& task) {
  const std::string& method = call.method();
  if (method == "tasks/list") {
    Json list = Json::array();
    for (const auto& each : tasks.all(call.caller())) {
      list.push_back(summary_of(*each, each->state(), false));
    }
    return Json{{"tasks", std::move(list)}};
  }
  if (method != "tasks/get" && method != "tasks/result" && method != "tasks/cancel") {
    return std::nullopt;
  }
  if (!task) {
    return unknown_task();
  }
  if (method == "tasks/result") {
    return result_of_task(call, *task);
  }
  if (method == "tasks/cancel") {
    if (task->is_over()) {
      return RpcError{.code = code::kInvalidParams, .message = "the task is over already"};
    }
    task->cancel();
  }
  return summary_of(*task, task->state(), false);
}

std::optional<Reply> answer_stateless(const Call& call, const std::shared_ptr<Task>& task) {
  const std::string& method = call.method();
  if (method != "tasks/get" && method != "tasks/update" && method != "tasks/cancel") {
    return std::nullopt;
  }
  if (!takes_task(call)) {
    return needs_tasks();
  }
  if (!task) {
    return unknown_task();
  }
  if (method == "tasks/get") {
    return detail_of_task(*task);
  }
  if (method == "tasks/cancel") {
    task->cancel();
    return Json::object();
  }
  const auto responses = call.params().find("inputResponses");
  if (responses == call.params().end() || !responses->is_object()) {
    return RpcError{.code = code::kInvalidParams,
                    .message = "\"inputResponses\" must be an object"};
  }
  for (const auto& [question, response] : responses->items()) {
    if (response.is_object()) {
      task->answer(question, response);
    }
  }
  return Json::object();
}

}  // namespace

std::vector<std::shared_ptr<Task>> Tasks::sweep(std::string_view tenant) {
  std::vector<std::shared_ptr<Task>> gone;
  std::size_t all = 0;
  std::size_t own = 0;
  std::size_t bytes = 0;
  std::size_t own_bytes = 0;
  // The newest first: what there is room for stays.
  for (auto each = tasks_.rbegin(); each != tasks_.rend(); ++each) {
    const bool is_own = (*each)->tenant() == tenant;
    bytes += (*each)->bytes();
    own_bytes += is_own ? (*each)->bytes() : 0;
    ++all;
    own += is_own ? 1 : 0;
    const bool no_room = all >= kMost || bytes > kMostBytes ||
                         (is_own && (own >= kMostOfTenant || own_bytes > kMostBytesOfTenant));
    if ((*each)->expired() || (no_room && (*each)->is_over())) {
      gone.push_back(std::move(*each));
    }
  }
  std::erase(tasks_, nullptr);
  return gone;
}

std::shared_ptr<Task> Tasks::begin(const Call& call,
                                   std::chrono::milliseconds time_to_live,
                                   Task::Work work) {
  std::vector<std::shared_ptr<Task>> gone;
  const std::scoped_lock lock(mutex_);
  gone = sweep(call.caller().tenant);
  std::size_t at_work = 0;
  std::size_t own = 0;
  for (const auto& each : tasks_) {
    const bool works = !each->is_over();
    at_work += works ? 1 : 0;
    own += works && each->tenant() == call.caller().tenant ? 1 : 0;
  }
  if (at_work >= kMostAtWork || own >= kMostAtWorkOfTenant) {
    return nullptr;
  }
  tasks_.push_back(std::make_shared<Task>(call, time_to_live, std::move(work)));
  return tasks_.back();
}

std::shared_ptr<Task> Tasks::find(const Caller& caller, std::string_view id) {
  std::vector<std::shared_ptr<Task>> gone;
  const std::scoped_lock lock(mutex_);
  gone = sweep(caller.tenant);
  const auto found = std::ranges::find_if(
      tasks_, [&](const auto& each) { return each->id() == id && each->belongs_to(caller); });
  return found == tasks_.end() ? nullptr : *found;
}

std::vector<std::shared_ptr<Task>> Tasks::all(const Caller& caller) {
  std::vector<std::shared_ptr<Task>> gone;
  std::vector<std::shared_ptr<Task>> own;
  const std::scoped_lock lock(mutex_);
  gone = sweep(caller.tenant);
  std::ranges::copy_if(tasks_, std::back_inserter(own),
                       [&](const auto& each) { return each->belongs_to(caller); });
  return own;
}

void Tasks::remove(const Task& task) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(tasks_, [&](const auto& each) { return each.get() == &task; });
}

RpcError needs_tasks() {
  return {.code = code::kMissingCapability,
          .message = "the client must declare the extension " + std::string(kTasksExtension),
          .data = {{"requiredCapabilities",
                    {{"extensions", {{std::string(kTasksExtension), Json::object()}}}}}}};
}

bool takes_task(const Call& call) {
  if (call.stateless()) {
    return call.client_extension(kTasksExtension) != nullptr;
  }
  const auto task = call.params().find("task");
  return call.version() == kWithTasks && task != call.params().end() && task->is_object();
}

Reply call_as_task(const Call& call, Tasks& tasks, const TaskUse& use, const Task::Work& work) {
  const bool stateless = call.stateless();
  const auto task = tasks.begin(
      call, stateless ? std::chrono::milliseconds(Tasks::kTimeToLive) : wanted_time(call), work);
  if (!task) {
    return stateless && !use.required
               ? work(call)
               : Reply(RpcError{.code = code::kInternal,
                                .message = "too many tasks are under way; wait for one of them, "
                                           "or cancel it"});
  }
  if (!stateless) {
    task->detach();
    return Json{{"task", summary_of(*task, task->state(), false)}};
  }
  task->wait(call.cancellation(), Task::Clock::now() + use.patience);
  task->detach();
  const Task::State state = task->state();
  if (call.cancellation().canceled() || (state.reply && !use.required)) {
    tasks.remove(*task);
    return state.reply ? *state.reply : Reply(RpcError{.message = "canceled"});
  }
  Json created = summary_of(*task, state, true);
  created["resultType"] = "task";
  return created;
}

std::optional<Reply> answer_about_tasks(const Call& call, Tasks& tasks) {
  if (call.method() == "resources/read") {
    const auto uri = text_member(call.params(), "uri");
    const auto task = uri ? task_of_output(call.caller(), tasks, *uri) : nullptr;
    return task ? std::optional<Reply>(printed_by(*task, *uri)) : std::nullopt;
  }
  if (!call.method().starts_with("tasks/")) {
    return std::nullopt;
  }
  const auto id = text_member(call.params(), "taskId");
  const auto task = id ? tasks.find(call.caller(), *id) : nullptr;
  if (call.stateless()) {
    return answer_stateless(call, task);
  }
  return call.version() == kWithTasks ? answer_in_session(call, tasks, task) : std::nullopt;
}

bool waits_for_task(std::string_view method) { return method == "tasks/result"; }

}  // namespace glovebox::mcp
