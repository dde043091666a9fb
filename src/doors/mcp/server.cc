// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/server.h"

#include <algorithm>
#include <array>
#include <utility>

#include "doors/mcp/subscriptions.h"

namespace glovebox::mcp {
namespace {

// With `initialize`, the newest first.
constexpr std::array<std::string_view, 4> kWithSessions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                           "2024-11-05"};
constexpr std::string_view kListen = "subscriptions/listen";
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kInfoKey = "io.modelcontextprotocol/serverInfo";
// How long a client may keep a list.
constexpr int kTimeToLive = 60'000;  // Milliseconds.

Reply unknown_method(std::string_view method) {
  return RpcError{.code = code::kUnknownMethod,
                  .message = "unknown method '" + std::string(method.substr(0, 100)) + "'"};
}

Reply invalid_params(std::string message) {
  return RpcError{.code = code::kInvalidParams, .message = std::move(message)};
}

const Params& meta_of(const Message& request) {
  static const Params kNone = Params::object();
  const auto found = request.params.find("_meta");
  return found != request.params.end() && found->is_object() ? *found : kNone;
}

bool is_cacheable(std::string_view method) {
  constexpr std::array<std::string_view, 6> kCacheable = {
      "server/discover",          "tools/list",     "resources/list",
      "resources/templates/list", "resources/read", "prompts/list"};
  return std::ranges::find(kCacheable, method) != kCacheable.end();
}

Reply set_log_level(const Message& request, Conversation& conversation) {
  const auto level = text_member(request.params, "level");
  if (!level || !severity(*level)) {
    return invalid_params("\"level\" must be a level of RFC 5424, such as \"info\"");
  }
  conversation.set_log_level(*level);
  return Json::object();
}

}  // namespace

RpcError unsupported_version(std::string_view requested) {
  Json supported = Json::array({kStateless});
  for (const std::string_view each : kWithSessions) {
    supported.push_back(each);
  }
  return {.code = code::kUnsupportedVersion,
          .message = "unsupported protocol version",
          .data = {{"supported", std::move(supported)},
                   {"requested", std::string(requested.substr(0, 100))}}};
}

std::optional<std::string> Server::stateless_version(const Message& request) {
  if (const auto version = text_member(meta_of(request), kVersionKey)) {
    return version;
  }
  // Only that revision has the method.
  return request.method == "server/discover" ? std::optional(std::string(kStateless))
                                             : std::nullopt;
}

bool Server::is_long(const Message& request) {
  return request.method == "tools/call" || request.method == "resources/read" ||
         request.method == "prompts/get" || request.method == kListen ||
         waits_for_task(request.method);
}

void Server::take(const Message& message, Conversation& conversation) {
  if (message.kind == Message::Kind::kResponse) {
    conversation.take_response(message);
  } else if (message.method == "notifications/cancelled") {
    const auto id = message.params.find("requestId");
    if (id != message.params.end() && (id->is_string() || id->is_number_integer())) {
      conversation.cancel(Json(*id));
    }
  }
}

Json Server::info() const {
  const Features::Info info = features_.info();
  return {{"name", info.name}, {"title", info.title}, {"version", info.version}};
}

Reply Server::initialize(const Message& request, Conversation& conversation) const {
  const auto wanted = text_member(request.params, "protocolVersion");
  if (!wanted) {
    return invalid_params("\"protocolVersion\" must be a string");
  }
  const bool known = std::ranges::find(kWithSessions, *wanted) != kWithSessions.end();
  const std::string version = known ? *wanted : std::string(kWithSessions.front());
  conversation.begin(version, request.params.value("capabilities", Params::object()));
  Json capabilities = features_.capabilities(false);
  if (features_.has_tasks() && version == kWithTasks) {
    capabilities["tasks"] = {{"list", Json::object()},
                             {"cancel", Json::object()},
                             {"requests", {{"tools", {{"call", Json::object()}}}}}};
  }
  return Json{{"protocolVersion", version},
              {"capabilities", std::move(capabilities)},
              {"serverInfo", info()},
              {"instructions", features_.instructions()}};
}

Json Server::discover() const {
  Json supported = Json::array({kStateless});
  for (const std::string_view each : kWithSessions) {
    supported.push_back(each);
  }
  Json capabilities = features_.capabilities(true);
  if (features_.has_tasks()) {
    capabilities["extensions"][std::string(kTasksExtension)] = Json::object();
  }
  return {{"supportedVersions", std::move(supported)},
          {"capabilities", std::move(capabilities)},
          {"instructions", features_.instructions()}};
}

Reply Server::reply(const Message& request,
                    Conversation& conversation,
                    Cancellation& cancellation,
                    const Caller& caller,
                    const Outlet& outlet) {
  const std::string& method = request.method;
  const auto named = stateless_version(request);
  if (named) {
    if (*named != kStateless) {
      return unsupported_version(*named);
    }
    const Params& meta = meta_of(request);
    if (!meta.contains(kVersionKey)) {
      return invalid_params("\"_meta\" lacks " + std::string(kVersionKey));
    }
    const auto capabilities = meta.find(kCapabilitiesKey);
    if (capabilities == meta.end() || !capabilities->is_object()) {
      return invalid_params("\"_meta\" lacks " + std::string(kCapabilitiesKey));
    }
    if (method == "server/discover") {
      return discover();
    }
    return handle(Call(request, *named, *capabilities, caller, conversation, cancellation, outlet));
  }
  if (method == "initialize") {
    return initialize(request, conversation);
  }
  if (method == "ping") {
    return Json::object();
  }
  const std::string version = conversation.version();
  if (version.empty()) {
    return RpcError{.code = code::kInvalidRequest,
                    .message = "send \"initialize\" first, or name revision " +
                               std::string(kStateless) + " in \"_meta\" of each request"};
  }
  if (method == "logging/setLevel") {
    return set_log_level(request, conversation);
  }
  return handle(Call(request, version, conversation.capabilities(), caller, conversation,
                     cancellation, outlet));
}

Reply Server::handle(const Call& call) {
  const auto answer = [this](const Call& each) {
    return features_.handle(each).value_or(unknown_method(each.method()));
  };
  if (!features_.has_tasks()) {
    return answer(call);
  }
  if (auto about_tasks = answer_about_tasks(call, tasks_)) {
    return *std::move(about_tasks);
  }
  if ((call.method() == kSubscribe || call.method() == kUnsubscribe) && !call.stateless()) {
    return subscribe(call, tasks_);
  }
  if (call.method() == kListen && call.stateless()) {
    return listen(call, tasks_, [&] { return features_.resource_changes(call.caller()); });
  }
  if (call.method() != "tools/call") {
    return answer(call);
  }
  const auto use = features_.task_use(call);
  if (takes_task(call)) {
    if (use) {
      return call_as_task(call, tasks_, *use, answer);
    }
    // Where the server decides, it has just decided.
    return call.stateless() ? answer(call)
                            : Reply(RpcError{.code = code::kUnknownMethod,
                                             .message = "this tool cannot be called as a task"});
  }
  return use && use->required && call.stateless() ? Reply(needs_tasks()) : answer(call);
}

std::string Server::answer(const Message& request,
                           Conversation& conversation,
                           Conversation::Entry& entry,
                           const Caller& caller,
                           const Outlet& outlet) {
  Reply reply = this->reply(request, conversation, entry.cancellation(), caller, outlet);
  if (entry.cancellation().canceled()) {
    return {};
  }
  // In a session, a call tells what it has made: the revisions before listen for nothing but that.
  if (!stateless_version(request) && conversation.lasts() &&
      conversation.note_resources(features_.resource_changes(caller)) &&
      request.method == "tools/call") {
    outlet(notification_text("notifications/resources/list_changed", Json::object()));
  }
  if (auto* const result = std::get_if<Json>(&reply); result && stateless_version(request)) {
    if (!result->contains("resultType")) {
      (*result)["resultType"] = "complete";
    }
    (*result)["_meta"][std::string(kInfoKey)] = info();
    if (is_cacheable(request.method) && !result->contains("ttlMs")) {
      // What a tool has made is its caller's alone.
      const bool shared = request.method != "resources/read" && request.method != "resources/list";
      (*result)["ttlMs"] = shared ? kTimeToLive : 0;
      (*result)["cacheScope"] = shared ? "public" : "private";
    }
  }
  return response_text(request.id, reply);
}

}  // namespace glovebox::mcp
