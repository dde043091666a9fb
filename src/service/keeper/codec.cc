// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/codec.h"

#include <optional>
#include <type_traits>

#include "base/json/json.h"
#include "service/keeper/field_lists.h"
#include "spec/egress_protocol.h"
#include "spec/json/guest_rules_json.h"
#include "spec/json/network_rules_json.h"
#include "spec/limit_fields.h"
#include "spec/verdict.h"

namespace glovebox::keeper {

using nlohmann::json;
using std::chrono::milliseconds;

std::int64_t to_ms(SystemTime time) {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

SystemTime to_time(std::int64_t ms) { return SystemTime(milliseconds(ms)); }

json to_json(const Environment& env) { return fields::encode(env); }
json to_json(const CreateOrder& order) { return fields::encode(order); }
json to_json(const SandboxUsage& usage) { return fields::encode(usage); }
json to_json(const Ending& ending) {
  return {{"reason", to_string(ending.reason)}, {"at", to_ms(ending.at)}};
}

json to_json(const ContextRequest& request) { return fields::encode(request); }
json to_json(const ContextInfo& info) { return fields::encode(info); }
json to_json(const ExecuteRequest& request) { return fields::encode(request); }
json to_json(const InputReply& reply) { return fields::encode(reply); }
json to_json(const ToolReply& reply) { return fields::encode(reply); }
json to_json(const ToolWait& wait) { return fields::encode(wait); }
json to_json(const CodePlace& place) { return fields::encode(place); }
json to_json(const Completion& completion) { return fields::encode(completion); }
json to_json(const Inspection& inspection) { return fields::encode(inspection); }
json to_json(const RunRequest& request) { return fields::encode(request); }
json to_json(const JudgeRequest& request) { return fields::encode(request); }
json to_json(const ProcessInfo& info) { return fields::encode(info); }
json to_json(const ProcessEvent& event) { return fields::encode(event); }

Environment to_environment(const json& from) { return fields::decoded<Environment>(from); }
CreateOrder to_create_order(const json& from) { return fields::decoded<CreateOrder>(from); }
SandboxUsage to_usage(const json& from) { return fields::decoded<SandboxUsage>(from); }
ContextRequest to_context_request(const json& from) {
  return fields::decoded<ContextRequest>(from);
}
ContextInfo to_context_info(const json& from) { return fields::decoded<ContextInfo>(from); }
ExecuteRequest to_execute_request(const json& from) {
  return fields::decoded<ExecuteRequest>(from);
}
InputReply to_input_reply(const json& from) { return fields::decoded<InputReply>(from); }
ToolReply to_tool_reply(const json& from) { return fields::decoded<ToolReply>(from); }
ToolWait to_tool_wait(const json& from) { return fields::decoded<ToolWait>(from); }
CodePlace to_code_place(const json& from) { return fields::decoded<CodePlace>(from); }
Completion to_completion(const json& from) { return fields::decoded<Completion>(from); }
Inspection to_inspection(const json& from) { return fields::decoded<Inspection>(from); }
RunRequest to_run_request(const json& from) { return fields::decoded<RunRequest>(from); }
JudgeRequest to_judge_request(const json& from) { return fields::decoded<JudgeRequest>(from); }
ProcessInfo to_process_info(const json& from) { return fields::decoded<ProcessInfo>(from); }
ProcessEvent to_process_event(const json& from) { return fields::decoded<ProcessEvent>(from); }

json to_json(const Limits& limits) {
  json object = json::object();
  each_limit([&](const auto& field) { object[field.record] = to_plain(limits.*field.limit); });
  return object;
}

Limits to_limits(const json& object) {
  Limits limits;
  each_limit([&](const auto& field) {
    fields::decode(fields::member(object, field.record), limits.*field.limit);
  });
  return limits;
}

json to_json(const LimitWishes& wishes) {
  json object = json::object();
  each_wish([&](const auto& field) {
    if (const auto& wish = wishes.*field.wish) {
      object[field.record] = to_plain(*wish);
    }
  });
  return object;
}

LimitWishes to_limit_wishes(const json& object) {
  LimitWishes wishes;
  each_wish([&](const auto& field) {
    fields::decode(fields::member(object, field.record), wishes.*field.wish);
  });
  return wishes;
}

json to_json(const NetworkOrder& order) {
  return {{"rules", glovebox::to_json(order.rules)},
          {"public_only", order.public_only},
          {"secrets", order.secrets}};
}

std::optional<NetworkOrder> to_network_order(const json& object) {
  if (!object.is_object() || object.empty()) {
    return std::nullopt;
  }
  return NetworkOrder{.rules = fields::decoded<NetworkRules>(fields::member(object, "rules")),
                      .public_only = !object.contains("public_only") ||
                                     fields::decoded<bool>(object["public_only"]),
                      .secrets = fields::decoded<SecretValues>(fields::member(object, "secrets"))};
}

json to_json(const SandboxConnections& connections) {
  json list = json::array();
  for (const ConnectionRecord& connection : connections.connections) {
    list.push_back(egress::encode(connection));
  }
  return {{"connections", std::move(list)}, {"more", connections.more}};
}

SandboxConnections to_connections(const json& object) {
  SandboxConnections connections{
      .more = fields::decoded<std::uint64_t>(fields::member(object, "more"))};
  for (const json& item : fields::member(object, "connections")) {
    if (!item.is_string()) {
      continue;
    }
    auto one = egress::decode_connection(item.get_ref<const std::string&>());
    if (one && connections.connections.size() < Verdict::kMaxConnections) {
      connections.connections.push_back(std::move(one).value());
    }
  }
  return connections;
}

// The size of its terminal is a field beside the others.
json to_json(const ProcessRequest& request) {
  json object = fields::encode(request);
  if (request.terminal) {
    object["columns"] = request.terminal->columns;
    object["rows"] = request.terminal->rows;
  }
  return object;
}

ProcessRequest to_process_request(const json& object) {
  auto request = fields::decoded<ProcessRequest>(object);
  if (const json& columns = fields::member(object, "columns"); !columns.is_null()) {
    request.terminal = ProcessRequest::Terminal{
        .columns = fields::decoded<std::uint16_t>(columns),
        .rows = fields::decoded<std::uint16_t>(fields::member(object, "rows"))};
  }
  return request;
}

}  // namespace glovebox::keeper
