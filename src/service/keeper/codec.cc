// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/codec.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "spec/egress_protocol.h"
#include "spec/json/exec_rules_json.h"
#include "spec/json/network_rules_json.h"
#include "spec/limit_fields.h"
#include "spec/verdict.h"

namespace glovebox::keeper {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// The member, or a default value.
template <typename T>
T get(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) {
    return {};
  }
  if constexpr (std::is_same_v<T, std::string>) {
    return found->is_string() ? found->template get<std::string>() : T{};
  } else if constexpr (std::is_same_v<T, bool>) {
    return found->is_boolean() && found->template get<bool>();
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Bytes{get<std::uint64_t>(object, name)};
  } else if constexpr (std::is_same_v<T, milliseconds>) {
    return milliseconds(get<std::int64_t>(object, name));
  } else if constexpr (std::is_integral_v<T>) {
    return found->is_number_integer() ? found->template get<T>() : T{};
  } else {
    return found->is_number() ? found->template get<T>() : T{};
  }
}

template <typename T>
T get_enum(const json& object, const char* name) {
  return static_cast<T>(get<int>(object, name));
}

const json& member(const json& object, const char* name) {
  static const json kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

template <typename T>
void put(json& object, const char* name, const std::optional<T>& value) {
  if (!value) {
    return;
  }
  object[name] = to_plain(*value);
}

template <typename T>
void take(const json& object, const char* name, std::optional<T>& value) {
  if (object.is_object() && object.contains(name)) {
    value = get<T>(object, name);
  }
}

json tier_json(const TierWish& tier) {
  return {{"exactly", tier.exactly}, {"at_least", tier.at_least}};
}

TierWish to_tier(const json& object) {
  return {.exactly = get<std::string>(object, "exactly"),
          .at_least = get<std::string>(object, "at_least")};
}

json command_json(const Command& command) {
  return {{"argv", command.argv}, {"env", keeper::to_json(command.env)}, {"cwd", command.cwd}};
}

std::vector<std::string> to_strings(const json& array) {
  std::vector<std::string> strings;
  if (array.is_array()) {
    for (const json& item : array) {
      strings.push_back(item.is_string() ? item.get<std::string>() : std::string());
    }
  }
  return strings;
}

Command to_command(const json& object) {
  return {.argv = to_strings(member(object, "argv")),
          .env = to_environment(member(object, "env")),
          .cwd = get<std::string>(object, "cwd")};
}

}  // namespace

std::int64_t to_ms(SystemTime time) {
  return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
}

SystemTime to_time(std::int64_t ms) { return SystemTime(milliseconds(ms)); }

json to_json(const Environment& env) {
  json array = json::array();
  for (const auto& [name, value] : env) {
    array.push_back(json::array({name, value}));
  }
  return array;
}

Environment to_environment(const json& array) {
  Environment env;
  if (array.is_array()) {
    for (const json& pair : array) {
      std::vector<std::string> both = to_strings(pair);
      if (both.size() == 2) {
        env.emplace_back(std::move(both[0]), std::move(both[1]));
      }
    }
  }
  return env;
}

json to_json(const Limits& limits) {
  json object = json::object();
  each_limit([&](const auto& field) { object[field.record] = to_plain(limits.*field.limit); });
  return object;
}

Limits to_limits(const json& object) {
  Limits limits;
  each_limit([&](const auto& field) {
    limits.*field.limit = get<std::decay_t<decltype(limits.*field.limit)>>(object, field.record);
  });
  return limits;
}

json to_json(const LimitWishes& wishes) {
  json object = json::object();
  each_wish([&](const auto& field) { put(object, field.record, wishes.*field.wish); });
  return object;
}

LimitWishes to_limit_wishes(const json& object) {
  LimitWishes wishes;
  each_wish([&](const auto& field) { take(object, field.record, wishes.*field.wish); });
  return wishes;
}

namespace {

json template_json(const TemplateOrder& order) {
  json mounts = json::array();
  for (const Mount& mount : order.mounts) {
    mounts.push_back({{"source", mount.source},
                      {"target", mount.target},
                      {"optional", mount.optional},
                      {"closed", mount.closed}});
  }
  return {{"tenant", order.tenant},    {"root", order.root},       {"mounts", std::move(mounts)},
          {"env", to_json(order.env)}, {"preload", order.preload}, {"directory", order.directory},
          {"contents", order.contents}};
}

TemplateOrder to_template_order(const json& object) {
  TemplateOrder order{.tenant = get<std::string>(object, "tenant"),
                      .root = get<std::string>(object, "root"),
                      .mounts = {},
                      .env = to_environment(member(object, "env")),
                      .preload = to_strings(member(object, "preload")),
                      .directory = get<std::string>(object, "directory"),
                      .contents = to_strings(member(object, "contents"))};
  for (const json& mount : member(object, "mounts")) {
    order.mounts.push_back({.source = get<std::string>(mount, "source"),
                            .target = get<std::string>(mount, "target"),
                            .optional = get<bool>(mount, "optional"),
                            .closed = get<bool>(mount, "closed")});
  }
  return order;
}

json indexes_json(const std::vector<PackageIndex>& indexes) {
  json list = json::array();
  for (const PackageIndex& index : indexes) {
    list.push_back({{"manager", static_cast<int>(index.manager)}, {"socket", index.socket}});
  }
  return list;
}

std::vector<PackageIndex> to_indexes(const json& list) {
  std::vector<PackageIndex> indexes;
  for (const json& index : list) {
    indexes.push_back({.manager = get_enum<PackageManager>(index, "manager"),
                       .socket = get<std::string>(index, "socket")});
  }
  return indexes;
}

}  // namespace

json to_json(const CreateOrder& order) {
  json images = json::array();
  for (const ImageOrder& image : order.images) {
    images.push_back(
        {{"image", image.image}, {"target", image.target}, {"read_only", image.read_only}});
  }
  return {{"tenant", order.tenant},
          {"id", order.id},
          {"images", std::move(images)},
          {"home", order.home},
          {"user", order.user},
          {"as_root", order.as_root},
          {"nested", order.nested},
          {"run_as", order.run_as},
          {"sudo", order.sudo},
          {"limits", to_json(order.limits)},
          {"env", to_json(order.env)},
          {"shows", template_json(order.shows)},
          {"network", order.network ? to_json(*order.network) : json()},
          {"exec", glovebox::to_json(order.exec)},
          {"indexes", indexes_json(order.indexes)},
          {"tier", tier_json(order.tier)},
          {"expires", to_ms(order.lifetime.expires)},
          {"on_timeout", static_cast<int>(order.lifetime.on_timeout)}};
}

CreateOrder to_create_order(const json& object) {
  std::vector<ImageOrder> images;
  for (const json& image : member(object, "images")) {
    images.push_back({.image = get<std::string>(image, "image"),
                      .target = get<std::string>(image, "target"),
                      .read_only = get<bool>(image, "read_only")});
  }
  return {.tenant = get<std::string>(object, "tenant"),
          .home = get<std::string>(object, "home"),
          .user = get<std::string>(object, "user"),
          .as_root = get<bool>(object, "as_root"),
          .nested = get<bool>(object, "nested"),
          .run_as = get<std::string>(object, "run_as"),
          .sudo = get<bool>(object, "sudo"),
          .limits = to_limits(member(object, "limits")),
          .env = to_environment(member(object, "env")),
          .tier = to_tier(member(object, "tier")),
          .lifetime = {.expires = to_time(get<std::int64_t>(object, "expires")),
                       .on_timeout = get_enum<OnTimeout>(object, "on_timeout")},
          .id = get<std::string>(object, "id"),
          .images = std::move(images),
          .shows = to_template_order(member(object, "shows")),
          .network = to_network_order(member(object, "network")),
          .exec = read_stored_exec_rules(get<std::string>(object, "exec")),
          .indexes = to_indexes(member(object, "indexes"))};
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
  NetworkOrder order{
      .rules = read_stored_network_rules(get<std::string>(object, "rules")),
      .public_only = !object.contains("public_only") || get<bool>(object, "public_only")};
  for (const auto& [name, value] : member(object, "secrets").items()) {
    order.secrets[name] = value.is_string() ? value.get<std::string>() : std::string();
  }
  return order;
}

json to_json(const SandboxConnections& connections) {
  json list = json::array();
  for (const ConnectionRecord& connection : connections.connections) {
    list.push_back(egress::encode(connection));
  }
  return {{"connections", std::move(list)}, {"more", connections.more}};
}

SandboxConnections to_connections(const json& object) {
  SandboxConnections connections{.more = get<std::uint64_t>(object, "more")};
  for (const json& item : member(object, "connections")) {
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

json to_json(const SandboxUsage& usage) {
  return {{"at", to_ms(usage.at)},
          {"cpus", usage.cpus},
          {"cpu_used", usage.cpu_used.count()},
          {"memory_used", usage.memory_used.count},
          {"memory_limit", usage.memory_limit.count},
          {"disk_used", usage.disk_used.count},
          {"disk_limit", usage.disk_limit.count},
          {"pids", usage.pids}};
}

SandboxUsage to_usage(const json& object) {
  return {.at = to_time(get<std::int64_t>(object, "at")),
          .cpus = get<double>(object, "cpus"),
          .cpu_used = std::chrono::microseconds(get<std::int64_t>(object, "cpu_used")),
          .memory_used = get<Bytes>(object, "memory_used"),
          .memory_limit = get<Bytes>(object, "memory_limit"),
          .disk_used = get<Bytes>(object, "disk_used"),
          .disk_limit = get<Bytes>(object, "disk_limit"),
          .pids = get<std::uint64_t>(object, "pids")};
}

json to_json(const ContextRequest& request) {
  return {{"language", request.language}, {"cwd", request.cwd}, {"env", to_json(request.env)}};
}

ContextRequest to_context_request(const json& object) {
  return {.language = get<std::string>(object, "language"),
          .cwd = get<std::string>(object, "cwd"),
          .env = to_environment(member(object, "env"))};
}

json to_json(const ContextInfo& info) {
  return {{"id", info.id},
          {"language", info.language},
          {"cwd", info.cwd},
          {"alive", info.alive},
          {"busy", info.busy}};
}

ContextInfo to_context_info(const json& object) {
  return {.id = get<std::string>(object, "id"),
          .language = get<std::string>(object, "language"),
          .cwd = get<std::string>(object, "cwd"),
          .alive = get<bool>(object, "alive"),
          .busy = get<bool>(object, "busy")};
}

json to_json(const ToolOffer& offer) {
  json tools = json::array();
  for (const Tool& tool : offer.tools) {
    tools.push_back(
        {{"name", tool.name}, {"description", tool.description}, {"parameters", tool.parameters}});
  }
  return {{"tools", std::move(tools)}, {"calls", offer.calls}, {"wait", offer.wait.count()}};
}

ToolOffer to_tool_offer(const json& object) {
  ToolOffer offer{.calls = get<std::uint32_t>(object, "calls"),
                  .wait = get<milliseconds>(object, "wait")};
  for (const json& tool : member(object, "tools")) {
    offer.tools.push_back({.name = get<std::string>(tool, "name"),
                           .description = get<std::string>(tool, "description"),
                           .parameters = get<std::string>(tool, "parameters")});
  }
  return offer;
}

json to_json(const ExecuteRequest& request) {
  return {{"code", request.code},
          {"env", to_json(request.env)},
          {"limits", to_json(request.limits)},
          {"recover", request.recover},
          {"store_history", request.store_history},
          {"allow_input", request.allow_input},
          {"tools", to_json(request.tools)},
          {"dry_run", request.dry_run},
          {"dry_run_network", request.dry_run_network},
          {"dry_run_timeout", request.dry_run_timeout.count()},
          {"key", request.idempotency_key}};
}

ExecuteRequest to_execute_request(const json& object) {
  return {.code = get<std::string>(object, "code"),
          .env = to_environment(member(object, "env")),
          .limits = to_limit_wishes(member(object, "limits")),
          .recover = get<bool>(object, "recover"),
          .store_history = get<bool>(object, "store_history"),
          .allow_input = get<bool>(object, "allow_input"),
          .tools = to_tool_offer(member(object, "tools")),
          .dry_run = get<bool>(object, "dry_run"),
          .dry_run_network = get<bool>(object, "dry_run_network"),
          .dry_run_timeout = get<milliseconds>(object, "dry_run_timeout"),
          .idempotency_key = get<std::string>(object, "key")};
}

json to_json(const InputReply& reply) {
  json object = json::object();
  put(object, "value", reply.value);
  put(object, "request", reply.request);
  return object;
}

InputReply to_input_reply(const json& object) {
  InputReply reply;
  take(object, "value", reply.value);
  take(object, "request", reply.request);
  return reply;
}

json to_json(const ToolReply& reply) {
  json object{{"call", reply.call}, {"result", reply.answer.result}};
  put(object, "error", reply.answer.error);
  return object;
}

ToolReply to_tool_reply(const json& object) {
  ToolReply reply{.call = get<std::string>(object, "call"),
                  .answer = {.result = get<std::string>(object, "result"), .error = {}}};
  take(object, "error", reply.answer.error);
  return reply;
}

json to_json(const CodePlace& place) {
  json object{{"code", place.code}};
  put(object, "cursor", place.cursor);
  return object;
}

CodePlace to_code_place(const json& object) {
  CodePlace place{.code = get<std::string>(object, "code"), .cursor = {}};
  take(object, "cursor", place.cursor);
  return place;
}

json to_json(const Completion& completion) {
  return {{"matches", completion.matches}, {"start", completion.start}, {"end", completion.end}};
}

Completion to_completion(const json& object) {
  return {.matches = to_strings(member(object, "matches")),
          .start = get<std::size_t>(object, "start"),
          .end = get<std::size_t>(object, "end")};
}

json to_json(const Inspection& inspection) {
  return {{"found", inspection.found}, {"data", inspection.data}};
}

Inspection to_inspection(const json& object) {
  Inspection inspection{.found = get<bool>(object, "found"), .data = {}};
  for (const auto& [type, text] : member(object, "data").items()) {
    inspection.data[type] = text.is_string() ? text.get<std::string>() : std::string();
  }
  return inspection;
}

json to_json(const RunRequest& request) {
  return {{"template", request.template_name},
          {"language", request.language},
          {"code", request.code},
          {"name", request.name},
          {"arguments", request.arguments},
          {"standard_input", request.standard_input},
          {"files", request.files},
          {"env", to_json(request.env)},
          {"limits", to_json(request.limits)},
          {"tier", tier_json(request.tier)},
          {"as_root", request.as_root},
          {"nested", request.nested},
          {"exec", glovebox::to_json(request.exec)},
          {"verify", request.verify},
          {"network", glovebox::to_json(request.network)},
          {"key", request.idempotency_key},
          {"analysis", request.analysis}};
}

RunRequest to_run_request(const json& object) {
  RunRequest request{.template_name = get<std::string>(object, "template"),
                     .language = get<std::string>(object, "language"),
                     .code = get<std::string>(object, "code"),
                     .name = get<std::string>(object, "name"),
                     .arguments = to_strings(member(object, "arguments")),
                     .standard_input = get<std::string>(object, "standard_input"),
                     .files = {},
                     .env = to_environment(member(object, "env")),
                     .limits = to_limit_wishes(member(object, "limits")),
                     .tier = to_tier(member(object, "tier")),
                     .as_root = get<bool>(object, "as_root"),
                     .nested = get<bool>(object, "nested"),
                     .exec = read_stored_exec_rules(get<std::string>(object, "exec")),
                     .verify = get<std::string>(object, "verify"),
                     .network = read_stored_network_rules(get<std::string>(object, "network")),
                     .idempotency_key = get<std::string>(object, "key"),
                     .analysis = get<bool>(object, "analysis")};
  for (const auto& [name, bytes] : member(object, "files").items()) {
    request.files[name] = bytes.is_string() ? bytes.get<std::string>() : std::string();
  }
  return request;
}

json to_json(const JudgeRequest& request) {
  json cases = json::array();
  for (const JudgeCase& each : request.cases) {
    json object{{"name", each.name},
                {"input", each.input},
                {"expected", each.expected},
                {"points", each.points}};
    put(object, "time", each.time);
    put(object, "memory", each.memory);
    cases.push_back(std::move(object));
  }
  json object{{"program", to_json(request.program)},
              {"cases", std::move(cases)},
              {"compare", request.compare},
              {"jobs", request.jobs},
              {"stop_at_first", request.stop_at_first}};
  if (request.checker) {
    object["checker"] = to_json(*request.checker);
  }
  return object;
}

JudgeRequest to_judge_request(const json& object) {
  JudgeRequest request{.program = to_run_request(member(object, "program")),
                       .compare = get<std::string>(object, "compare"),
                       .jobs = get<std::uint32_t>(object, "jobs"),
                       .stop_at_first = get<bool>(object, "stop_at_first")};
  for (const json& each : member(object, "cases")) {
    JudgeCase one{.name = get<std::string>(each, "name"),
                  .input = get<std::string>(each, "input"),
                  .expected = get<std::string>(each, "expected"),
                  .points = get<double>(each, "points")};
    take(each, "time", one.time);
    take(each, "memory", one.memory);
    request.cases.push_back(std::move(one));
  }
  if (const json& checker = member(object, "checker"); checker.is_object()) {
    request.checker = to_run_request(checker);
  }
  return request;
}

json to_json(const ProcessRequest& request) {
  json object{{"command", command_json(request.command)}, {"user", request.user},
              {"keep_stdin", request.keep_stdin},         {"tag", request.tag},
              {"timeout", request.timeout.count()},       {"start_only", request.start_only}};
  if (request.terminal) {
    object["columns"] = request.terminal->columns;
    object["rows"] = request.terminal->rows;
  }
  return object;
}

ProcessRequest to_process_request(const json& object) {
  ProcessRequest request{.command = to_command(member(object, "command")),
                         .user = get<std::string>(object, "user"),
                         .terminal = {},
                         .keep_stdin = get<bool>(object, "keep_stdin"),
                         .tag = get<std::string>(object, "tag"),
                         .timeout = get<milliseconds>(object, "timeout"),
                         .start_only = get<bool>(object, "start_only")};
  if (object.is_object() && object.contains("columns")) {
    request.terminal = ProcessRequest::Terminal{.columns = get<std::uint16_t>(object, "columns"),
                                                .rows = get<std::uint16_t>(object, "rows")};
  }
  return request;
}

json to_json(const ProcessInfo& info) {
  return {{"pid", info.pid},
          {"command", command_json(info.command)},
          {"tag", info.tag},
          {"terminal", info.terminal},
          {"alive", info.alive}};
}

ProcessInfo to_process_info(const json& object) {
  return {.pid = get<std::uint32_t>(object, "pid"),
          .command = to_command(member(object, "command")),
          .tag = get<std::string>(object, "tag"),
          .terminal = get<bool>(object, "terminal"),
          .alive = get<bool>(object, "alive")};
}

json to_json(const ProcessEvent& event) {
  json object{{"kind", static_cast<int>(event.kind)},
              {"pid", event.pid},
              {"bytes", event.bytes},
              {"exit_code", event.exit_code},
              {"reason", static_cast<int>(event.reason)}};
  put(object, "signal", event.signal);
  return object;
}

ProcessEvent to_process_event(const json& object) {
  ProcessEvent event{.kind = get_enum<ProcessEvent::Kind>(object, "kind"),
                     .pid = get<std::uint32_t>(object, "pid"),
                     .bytes = get<std::string>(object, "bytes"),
                     .exit_code = get<int>(object, "exit_code"),
                     .reason = get_enum<Status>(object, "reason")};
  take(object, "signal", event.signal);
  return event;
}

}  // namespace glovebox::keeper
