// SPDX-License-Identifier: Apache-2.0
#include "spec/json/verdict_json.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "spec/json/schema.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

Json walls_json(const Walls& walls) {
  Json json{{"kernel", walls.kernel},
            {"user_ns", walls.user_ns},
            {"mount_ns", walls.mount_ns},
            {"pid_ns", walls.pid_ns},
            {"net_ns", walls.net_ns},
            {"ipc_ns", walls.ipc_ns},
            {"uts_ns", walls.uts_ns},
            {"cgroup_ns", walls.cgroup_ns},
            {"network", walls.network},
            {"seccomp", walls.seccomp},
            {"landlock", walls.landlock},
            {"cgroup", walls.cgroup},
            {"uid", walls.uid},
            {"user", walls.user},
            {"no_capabilities", walls.no_capabilities},
            {"no_new_privs", walls.no_new_privs}};
  if (walls.exec != "any") {
    json["exec"] = walls.exec;
  }
  if (!walls.capabilities.empty()) {
    json["capabilities"] = walls.capabilities;
  }
  return json;
}

// A number as an integer where it is one: 512, not 512.0.
Json number_json(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

Json limits_json(const std::vector<LimitReport>& limits) {
  Json json = Json::object();
  for (const LimitReport& limit : limits) {
    json[limit.name] = {{"value", number_json(limit.value)},
                        {"enforced", limit.enforced},
                        {"hit", limit.hit}};
  }
  return json;
}

Json files_json(const std::vector<FileChange>& files) {
  Json json = Json::array();
  for (const FileChange& file : files) {
    json.push_back({{"path", to_utf8(file.path)},
                    {"size", file.size},
                    {"change", std::string(to_string(file.kind))}});
  }
  return json;
}

Json connection_json(const ConnectionRecord& connection) {
  Json json{{"host", to_utf8(connection.host)},
            {"port", connection.port},
            {"verdict", std::string(to_string(connection.verdict))},
            {"rule", to_utf8(connection.rule)},
            {"address", nullptr},
            {"via", connection.upstream ? "upstream" : "direct"},
            {"sent", connection.sent},
            {"received", connection.received}};
  if (!connection.address.empty()) {
    json["address"] = to_utf8(connection.address);
  }
  if (!connection.reason.empty()) {
    json["reason"] = to_utf8(connection.reason);
  }
  return json;
}

Json connections_json(const std::vector<ConnectionRecord>& connections) {
  Json json = Json::array();
  for (const ConnectionRecord& connection : connections) {
    json.push_back(connection_json(connection));
  }
  return json;
}

void add_stream(Json& json, const char* name, const Captured& captured) {
  json[name] = to_utf8(captured.bytes);
  if (!is_utf8(captured.bytes)) {
    json[std::string(name) + "_base64"] = to_base64(captured.bytes);
  }
}

// MIME values come as JSON text from a decoder of ours; what is none all the same becomes null.
Json bundle_json(const MimeBundle& bundle) {
  Json json = Json::object();
  for (const auto& [type, value] : bundle) {
    Json parsed = Json::parse(value, nullptr, false);
    json[to_utf8(type)] = parsed.is_discarded() ? Json(nullptr) : std::move(parsed);
  }
  return json;
}

Json result_json(const Event& event) {
  Json json{{"main", event.kind == Event::Kind::kResult}, {"data", bundle_json(event.data)}};
  if (const Json metadata = Json::parse(event.metadata, nullptr, false);
      metadata.is_object() && !metadata.empty()) {
    json["metadata"] = metadata;
  }
  if (!event.display_id.empty()) {
    json["display_id"] = to_utf8(event.display_id);
    json["update"] = event.update;
  }
  return json;
}

Json results_json(const std::vector<Event>& results) {
  Json json = Json::array();
  for (const Event& event : results) {
    json.push_back(result_json(event));
  }
  return json;
}

Json verdict_json(const Verdict& verdict) {
  Json json;
  json["id"] = verdict.id;
  json["language"] = verdict.language;
  json["tier"] = verdict.tier;
  json["status"] = std::string(to_string(verdict.status));
  json["exit_code"] = verdict.exit_code;
  json["signal"] = verdict.signal ? Json(*verdict.signal) : Json(nullptr);
  if (!verdict.limit.empty()) {
    json["limit"] = verdict.limit;
  }
  add_stream(json, "stdout", verdict.out);
  add_stream(json, "stderr", verdict.err);
  json["truncated"] = {{"stdout", verdict.out.truncated}, {"stderr", verdict.err.truncated}};
  json["bytes"] = {{"stdout", verdict.out.total}, {"stderr", verdict.err.total}};
  json["results"] = results_json(verdict.results);
  if (verdict.execution_count > 0) {
    json["execution_count"] = verdict.execution_count;
  }
  json["error"] = nullptr;
  if (verdict.error) {
    json["error"] = {{"name", to_utf8(verdict.error->name)},
                     {"value", to_utf8(verdict.error->value)},
                     {"traceback", to_utf8(verdict.error->traceback)}};
  }
  json["files"] = files_json(verdict.files);
  if (verdict.files_truncated) {
    json["files_truncated"] = true;
  }
  json["walls"] = walls_json(verdict.walls);
  json["limits"] = limits_json(verdict.limits);
  if (verdict.walls.network != "none") {
    json["connections"] = connections_json(verdict.connections);
    if (verdict.more_connections > 0) {
      json["more_connections"] = verdict.more_connections;
    }
  }
  json["usage"] = {{"wall_ms", milliseconds(verdict.usage.wall)},
                   {"cpu_ms", milliseconds(verdict.usage.cpu)},
                   {"memory_peak", verdict.usage.memory_peak.count},
                   {"pids_peak", verdict.usage.pids_peak},
                   {"disk_bytes", verdict.usage.disk.count}};
  Json timings = Json::object();
  for (const Timing& timing : verdict.timings) {
    timings[timing.step + "_us"] = timing.took.count();
  }
  json["timings"] = std::move(timings);
  if (!verdict.notes.empty()) {
    json["notes"] = verdict.notes;
  }
  if (verdict.verification) {
    json["verification"] = verdict_json(*verdict.verification);
  }
  return json;
}

// One that stands alone, not within another.
Json document(const Verdict& verdict) {
  Json json{{"schema", schema_of("verdict")}};
  json.update(verdict_json(verdict));
  return json;
}

std::string text_of(const Json& json) {
  // The texts are valid already; `replace` only keeps a bug of ours from throwing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Verdict& verdict) { return text_of(document(verdict)); }

std::string to_json(const Walls& walls) { return text_of(walls_json(walls)); }

std::string started_event(std::string_view id, std::string_view phase) {
  return text_of(Json{{"type", "started"}, {"id", id}, {"phase", phase}});
}

std::string output_event(std::string_view stream, std::string_view bytes) {
  Json json{{"type", stream}, {"text", to_utf8(bytes)}};
  if (!is_utf8(bytes)) {
    json["base64"] = to_base64(bytes);
  }
  return text_of(json);
}

std::string result_event(const Event& event) {
  Json json = result_json(event);
  json["type"] = "result";
  return text_of(json);
}

std::string error_event(const GuestError& error) {
  return text_of(Json{{"type", "error"},
                      {"name", to_utf8(error.name)},
                      {"value", to_utf8(error.value)},
                      {"traceback", to_utf8(error.traceback)}});
}

std::string to_json(const std::vector<ConnectionRecord>& connections) {
  return text_of(connections_json(connections));
}

std::string connection_event(const ConnectionRecord& connection) {
  Json json = connection_json(connection);
  json["type"] = "connection";
  return text_of(json);
}

std::string verdict_event(const Verdict& verdict) {
  Json json = document(verdict);
  json["type"] = "verdict";
  return text_of(json);
}

}  // namespace glovebox
