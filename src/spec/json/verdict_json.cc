// SPDX-License-Identifier: Apache-2.0
#include "spec/json/verdict_json.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "spec/json/dry_run_json.h"
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
  if (walls.write != "any") {
    json["write"] = walls.write;
  }
  if (walls.read != "any") {
    json["read"] = walls.read;
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

Json checks_json(const std::vector<CheckReport>& checks) {
  Json json = Json::array();
  for (const CheckReport& each : checks) {
    Json check{{"check", each.check}, {"passed", each.passed}};
    if (!each.what.empty()) {
      check["what"] = to_utf8(each.what);
    }
    if (!each.reason.empty()) {
      check["reason"] = to_utf8(each.reason);
    }
    json.push_back(std::move(check));
  }
  return json;
}

Json error_json(const GuestError& error) {
  return {{"name", to_utf8(error.name)},
          {"value", to_utf8(error.value)},
          {"traceback", to_utf8(error.traceback)}};
}

std::string text_of(const Json& json) {
  // The texts are valid already; `replace` only keeps a bug of ours from throwing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An object that is written member by member, with what is JSON text already as it is.
class ObjectText {
 public:
  void add(std::string_view name, const Json& value) { add_text(name, text_of(value)); }

  void add_text(std::string_view name, std::string_view value) {
    text_ += text_.size() > 1 ? "," : "";
    text_ += text_of(name);
    text_ += ':';
    text_ += value;
  }

  std::string take() && { return std::move(text_) + "}"; }

 private:
  std::string text_ = "{";
};

void add_stream(ObjectText& text, const std::string& name, const Captured& captured) {
  text.add(name, to_utf8(captured.bytes));
  if (!is_utf8(captured.bytes)) {
    text.add(name + "_base64", to_base64(captured.bytes));
  }
}

// A MIME value is JSON text already and stays the bytes that it was.
std::string bundle_text(const MimeBundle& bundle) {
  ObjectText text;
  for (const auto& [type, value] : bundle) {
    text.add_text(to_utf8(type), value);
  }
  return std::move(text).take();
}

ObjectText result_text(const Event& event) {
  ObjectText text;
  text.add("main", event.kind == Event::Kind::kResult);
  text.add_text("data", bundle_text(event.data));
  if (event.metadata != "{}") {
    text.add_text("metadata", event.metadata);
  }
  if (!event.display_id.empty()) {
    text.add("display_id", to_utf8(event.display_id));
    text.add("update", event.update);
  }
  return text;
}

std::string results_text(const std::vector<Event>& results) {
  std::string text = "[";
  for (const Event& event : results) {
    text += text.size() > 1 ? "," : "";
    text += result_text(event).take();
  }
  return text + "]";
}

// Its members, behind those that `text` has.
void add_verdict(ObjectText& text, const Verdict& verdict) {
  text.add("id", verdict.id);
  text.add("language", verdict.language);
  text.add("tier", verdict.tier);
  text.add("status", to_string(verdict.status));
  text.add("exit_code", verdict.exit_code);
  text.add("signal", verdict.signal ? Json(*verdict.signal) : Json(nullptr));
  if (!verdict.limit.empty()) {
    text.add("limit", verdict.limit);
  }
  add_stream(text, "stdout", verdict.out);
  add_stream(text, "stderr", verdict.err);
  text.add("truncated", {{"stdout", verdict.out.truncated}, {"stderr", verdict.err.truncated}});
  text.add("bytes", {{"stdout", verdict.out.total}, {"stderr", verdict.err.total}});
  text.add_text("results", results_text(verdict.results));
  if (verdict.execution_count > 0) {
    text.add("execution_count", verdict.execution_count);
  }
  text.add("error", verdict.error ? error_json(*verdict.error) : Json(nullptr));
  text.add("files", files_json(verdict.files));
  if (verdict.files_truncated) {
    text.add("files_truncated", true);
  }
  text.add("walls", walls_json(verdict.walls));
  text.add("limits", limits_json(verdict.limits));
  if (verdict.walls.network != "none") {
    text.add("connections", connections_json(verdict.connections));
    if (verdict.more_connections > 0) {
      text.add("more_connections", verdict.more_connections);
    }
  }
  text.add("usage", {{"wall_ms", milliseconds(verdict.usage.wall)},
                     {"cpu_ms", milliseconds(verdict.usage.cpu)},
                     {"memory_peak", verdict.usage.memory_peak.count},
                     {"pids_peak", verdict.usage.pids_peak},
                     {"disk_bytes", verdict.usage.disk.count}});
  text.add_text("timings", timings_text(verdict.timings));
  if (!verdict.notes.empty()) {
    text.add("notes", verdict.notes);
  }
  if (!verdict.checks.empty()) {
    text.add("checks", checks_json(verdict.checks));
  }
  if (verdict.dry_run) {
    text.add_text("dry_run", to_json(*verdict.dry_run));
  }
  if (verdict.verification) {
    ObjectText verification;
    add_verdict(verification, *verdict.verification);
    text.add_text("verification", std::move(verification).take());
  }
}

// The member that every event has, behind its others.
constexpr std::string_view kVerdictType = R"(,"type":"verdict"})";

}  // namespace

std::string to_json(const Verdict& verdict) {
  ObjectText text;
  text.add("schema", schema_of("verdict"));
  add_verdict(text, verdict);
  return std::move(text).take();
}

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
  ObjectText text = result_text(event);
  text.add("type", "result");
  return std::move(text).take();
}

std::string error_event(const GuestError& error) {
  Json json{{"type", "error"}};
  json.update(error_json(error));
  return text_of(json);
}

std::string to_json(const std::vector<ConnectionRecord>& connections) {
  return text_of(connections_json(connections));
}

std::string connection_event(const ConnectionRecord& connection) {
  Json json = connection_json(connection);
  json["type"] = "connection";
  return text_of(json);
}

std::string timings_text(const std::vector<Timing>& timings) {
  Json steps = Json::object();
  for (const Timing& timing : timings) {
    steps[timing.step + "_us"] = timing.took.count();
  }
  return text_of(steps);
}

std::string verdict_event(const Verdict& verdict) { return verdict_event(to_json(verdict)); }

std::string verdict_event(std::string verdict) {
  return verdict.replace(verdict.size() - 1, 1, kVerdictType);
}

bool is_verdict_event(std::string_view event) { return event.ends_with(kVerdictType); }

std::optional<std::string> verdict_in(std::string_view event) {
  return is_verdict_event(event)
             ? std::optional(std::string(event.substr(0, event.size() - kVerdictType.size())) + "}")
             : std::nullopt;
}

}  // namespace glovebox
