// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/subscriptions.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doors/mcp/watching.h"

namespace glovebox::mcp {
namespace {

constexpr std::string_view kSubscription = "io.modelcontextprotocol/subscriptionId";
constexpr std::chrono::minutes kMostTime{10};
constexpr int kLookAtLeastEvery = 1'000;   // Milliseconds.
constexpr std::size_t kMostSubjects = 64;  // Of each kind.
constexpr std::size_t kMostUri = 4'096;

// The texts of a list among what the client wants; nothing if it is not a list of texts, or too
// long.
std::optional<std::vector<std::string>> texts_of(const Params& wanted, const char* name) {
  std::vector<std::string> texts;
  const auto found = wanted.find(name);
  if (found == wanted.end()) {
    return texts;
  }
  if (!found->is_array() || found->size() > kMostSubjects) {
    return std::nullopt;
  }
  for (const Params& each : *found) {
    if (!each.is_string()) {
      return std::nullopt;
    }
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

class Stream {
 public:
  explicit Stream(const Call& call) : call_(call) {}

  void tell(std::string_view method, Json params) const {
    params["_meta"] = meta();
    call_.tell(notification_text(method, params));
  }

  [[nodiscard]] Json meta() const { return {{std::string(kSubscription), call_.message().id}}; }

 private:
  const Call& call_;
};

// Subjects hold no task: its time may be over before theirs.
using Kept = std::weak_ptr<const Task>;

bool is_over(const Kept& kept) {
  const auto task = kept.lock();
  return !task || task->is_over();
}

Watching::Subject subject_of_task(const Kept& kept, const std::string& id) {
  return {.name = "task " + id,
          .version = [kept]() -> std::optional<std::uint64_t> {
            const auto task = kept.lock();
            return task ? std::optional(task->changes()) : std::nullopt;
          },
          .is_over = [kept] { return is_over(kept); },
          .method = "notifications/tasks",
          .params =
              [kept] {
                const auto task = kept.lock();
                return task ? detail_of_task(*task) : Json::object();
              }};
}

Watching::Subject subject_of_output(const Kept& kept, const std::string& uri) {
  return {.name = uri,
          .version = [kept]() -> std::optional<std::uint64_t> {
            const auto task = kept.lock();
            return task ? std::optional(task->printed_bytes()) : std::nullopt;
          },
          .is_over = [kept] { return is_over(kept); },
          .method = "notifications/resources/updated",
          .params =
              [uri] {
                return Json{{"uri", uri}};
              }};
}

Watching::Subject subject_of_list(const std::function<std::uint64_t()>& changes) {
  return {.name = "resources",
          .version = [changes] { return std::optional(changes()); },
          .is_over = [] { return false; },
          .method = "notifications/resources/list_changed",
          .params = [] { return Json::object(); },
          .told = changes()};
}

}  // namespace

Reply listen(const Call& call, Tasks& tasks, const std::function<std::uint64_t()>& list_changes) {
  const Params wanted = call.params().value("notifications", Params());
  const auto ids = wanted.is_object() ? texts_of(wanted, "taskIds") : std::nullopt;
  const auto uris = ids ? texts_of(wanted, "resourceSubscriptions") : std::nullopt;
  if (!uris) {
    return RpcError{.code = code::kInvalidParams,
                    .message =
                        "\"notifications\" must be an object; \"taskIds\" and "
                        "\"resourceSubscriptions\" in it, lists of at most 64 strings"};
  }
  if (!ids->empty() && !takes_task(call)) {
    return needs_tasks();
  }
  Json agreed = Json::object();
  Watching watching;
  for (const std::string& id : *ids) {
    if (const auto task = tasks.find(call.caller(), id)) {
      agreed["taskIds"].push_back(id);
      (void)watching.add(subject_of_task(task, id));
    }
  }
  for (const std::string& uri : *uris) {
    if (const auto task = task_of_output(call.caller(), tasks, uri)) {
      agreed["resourceSubscriptions"].push_back(uri);
      (void)watching.add(subject_of_output(task, uri));
    }
  }
  const auto all = wanted.find("resourcesListChanged");
  if (list_changes && all != wanted.end() && all->is_boolean() && all->get<bool>()) {
    agreed["resourcesListChanged"] = true;
    (void)watching.add(subject_of_list(list_changes));
  }
  const Stream stream(call);
  stream.tell("notifications/subscriptions/acknowledged", {{"notifications", std::move(agreed)}});
  const auto deadline = Task::Clock::now() + kMostTime;
  while (!call.cancellation().canceled() && Task::Clock::now() < deadline) {
    watching.tell([&stream](std::string_view method, Json params) {
      stream.tell(method, std::move(params));
    });
    if (watching.is_over()) {
      break;
    }
    std::array<pollfd, 2> waits{
        {{call.cancellation().fd(), POLLIN, 0}, {watching.fd(), POLLIN, 0}}};
    (void)::poll(waits.data(), waits.size(), kLookAtLeastEvery);
  }
  return Json{{"_meta", stream.meta()}};
}

Reply subscribe(const Call& call, Tasks& tasks) {
  const auto uri = text_member(call.params(), "uri");
  if (!uri || uri->size() > kMostUri) {
    return RpcError{.code = code::kInvalidParams,
                    .message = "\"uri\" must be a string of at most 4,096 bytes"};
  }
  Watching& watching = call.conversation().watching();
  if (call.method() == kUnsubscribe) {
    watching.remove(*uri);
    return Json::object();
  }
  if (!is_uri_of_output(*uri)) {
    return Json::object();  // What never changes has nothing to tell.
  }
  const auto task = task_of_output(call.caller(), tasks, *uri);
  if (!task) {
    return RpcError{.code = code::kLegacyNotFound,
                    .message = "resource not found",
                    .data = {{"uri", to_utf8(*uri)}}};
  }
  if (!watching.add(subject_of_output(task, *uri))) {
    return RpcError{.code = code::kInvalidParams, .message = "too many subscriptions"};
  }
  return Json::object();
}

}  // namespace glovebox::mcp
