// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/subscriptions.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox::mcp {
namespace {

constexpr std::string_view kSubscription = "io.modelcontextprotocol/subscriptionId";
constexpr std::chrono::minutes kMostTime{10};
constexpr int kLookForChangesEvery = 100;  // Milliseconds.
constexpr std::size_t kMostSubjects = 64;

// A task that is listened to, with what the client knows of it.
struct Watched {
  std::shared_ptr<Task> task;
  bool of_output = false;  // What it prints; else how it is.
  std::uint64_t version = 0;
};

std::uint64_t version_of(const Watched& watched) {
  return watched.of_output ? watched.task->printed_bytes() : watched.task->changes();
}

// The texts of a list among what the client wants; nothing where it is none, or too long.
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

void tell_of(const Stream& stream, const Watched& watched) {
  if (watched.of_output) {
    stream.tell("notifications/resources/updated", {{"uri", uri_of_output(*watched.task)}});
  } else {
    stream.tell("notifications/tasks", detail_of_task(*watched.task));
  }
}

bool is_over(const std::vector<Watched>& watched) {
  return std::ranges::all_of(watched, [](const Watched& each) {
    return each.task->is_over() && each.version == version_of(each);
  });
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
  std::vector<Watched> watched;
  for (const std::string& id : *ids) {
    if (auto task = tasks.find(call.caller(), id)) {
      agreed["taskIds"].push_back(id);
      watched.push_back({.task = std::move(task)});
    }
  }
  for (const std::string& uri : *uris) {
    if (auto task = task_of_output(call.caller(), tasks, uri)) {
      agreed["resourceSubscriptions"].push_back(uri);
      watched.push_back({.task = std::move(task), .of_output = true});
    }
  }
  const auto all = wanted.find("resourcesListChanged");
  const bool lists = list_changes && all != wanted.end() && all->is_boolean() && all->get<bool>();
  if (lists) {
    agreed["resourcesListChanged"] = true;
  }
  std::uint64_t list_version = lists ? list_changes() : 0;
  const Stream stream(call);
  stream.tell("notifications/subscriptions/acknowledged", {{"notifications", std::move(agreed)}});
  const auto deadline = Task::Clock::now() + kMostTime;
  while (!call.cancellation().canceled() && Task::Clock::now() < deadline) {
    for (Watched& each : watched) {
      if (const std::uint64_t version = version_of(each); version != each.version) {
        each.version = version;
        tell_of(stream, each);
      }
    }
    if (const std::uint64_t version = lists ? list_changes() : 0; version != list_version) {
      list_version = version;
      stream.tell("notifications/resources/list_changed", Json::object());
    }
    if (!lists && is_over(watched)) {
      break;
    }
    pollfd waits{call.cancellation().fd(), POLLIN, 0};
    (void)::poll(&waits, 1, kLookForChangesEvery);
  }
  return Json{{"_meta", stream.meta()}};
}

}  // namespace glovebox::mcp
