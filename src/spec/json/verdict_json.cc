// SPDX-License-Identifier: Apache-2.0
#include "spec/json/verdict_json.h"

#include "base/base64.h"
#include "base/json/json.h"
#include "base/text.h"
#include "spec/json/dry_run_json.h"
#include "spec/json/object_text.h"
#include "spec/json/schema.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) {
  // The texts are valid already; `replace` only keeps a bug of ours from throwing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double milliseconds(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

std::string walls_text(const Walls& walls) {
  ObjectText text;
  text.add("kernel", walls.kernel)
      .add("user_ns", walls.user_ns)
      .add("mount_ns", walls.mount_ns)
      .add("pid_ns", walls.pid_ns)
      .add("net_ns", walls.net_ns)
      .add("ipc_ns", walls.ipc_ns)
      .add("uts_ns", walls.uts_ns)
      .add("cgroup_ns", walls.cgroup_ns)
      .add("network", walls.network)
      .add("seccomp", walls.seccomp)
      .add("landlock", walls.landlock)
      .add("cgroup", walls.cgroup)
      .add("uid", walls.uid)
      .add("user", walls.user)
      .add("no_capabilities", walls.no_capabilities)
      .add("no_new_privs", walls.no_new_privs);
  if (walls.exec != "any") {
    text.add("exec", walls.exec);
  }
  if (walls.write != "any") {
    text.add("write", walls.write);
  }
  if (walls.read != "any") {
    text.add("read", walls.read);
  }
  if (!walls.capabilities.empty()) {
    text.add_text("capabilities", text_of(walls.capabilities));
  }
  return text.take();
}

// A number as an integer if it is one: 512, not 512.0.
void add_number(ObjectText& text, std::string_view name, double value) {
  const auto whole = static_cast<std::int64_t>(value);
  if (static_cast<double>(whole) == value) {
    text.add(name, whole);
  } else {
    text.add(name, value);
  }
}

std::string limits_text(const std::vector<LimitReport>& limits) {
  ObjectText text;
  for (const LimitReport& limit : limits) {
    ObjectText one;
    add_number(one, "value", limit.value);
    one.add("enforced", limit.enforced).add("hit", limit.hit);
    text.add_text(limit.name, one.take());
  }
  return text.take();
}

// An array of texts that are JSON already.
std::string array_text(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    text += text.size() > 1 ? "," : "";
    text += item;
  }
  return text + "]";
}

std::string files_text(const std::vector<FileChange>& files) {
  std::vector<std::string> items;
  for (const FileChange& file : files) {
    ObjectText item;
    item.add("path", file.path).add("size", file.size).add("change", to_string(file.kind));
    items.push_back(item.take());
  }
  return array_text(items);
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

std::string error_text(const GuestError& error) {
  ObjectText text;
  text.add("name", error.name).add("value", error.value).add("traceback", error.traceback);
  return text.take();
}

void add_stream(ObjectText& text, const std::string& name, const Captured& captured) {
  text.add(name, captured.bytes);
  if (!is_utf8(captured.bytes)) {
    text.add(name + "_base64", to_base64(captured.bytes));
  }
}

// A MIME value is JSON text already and keeps its bytes.
std::string bundle_text(const MimeBundle& bundle) {
  ObjectText text;
  for (const auto& [type, value] : bundle) {
    text.add_text(to_utf8(type), value);
  }
  return text.take();
}

ObjectText result_text(const Event& event) {
  ObjectText text;
  text.add("main", event.kind == Event::Kind::kResult);
  text.add_text("data", bundle_text(event.data));
  if (event.metadata != "{}") {
    text.add_text("metadata", event.metadata);
  }
  if (!event.display_id.empty()) {
    text.add("display_id", event.display_id);
    text.add("update", event.update);
  }
  return text;
}

std::string results_text(const std::vector<Event>& results) {
  std::vector<std::string> items;
  for (const Event& event : results) {
    items.push_back(result_text(event).take());
  }
  return array_text(items);
}

std::string usage_text(const Usage& usage) {
  ObjectText text;
  text.add("wall_ms", milliseconds(usage.wall))
      .add("cpu_ms", milliseconds(usage.cpu))
      .add("memory_peak", usage.memory_peak.count)
      .add("pids_peak", usage.pids_peak)
      .add("disk_bytes", usage.disk.count);
  return text.take();
}

// Of the two streams.
template <typename Value>
std::string both_text(Value out, Value err) {
  ObjectText text;
  text.add("stdout", out).add("stderr", err);
  return text.take();
}

// Its members, behind those that `text` has.
void add_verdict(ObjectText& text, const Verdict& verdict) {
  text.add("id", verdict.id)
      .add("language", verdict.language)
      .add("tier", verdict.tier)
      .add("status", to_string(verdict.status))
      .add("exit_code", verdict.exit_code);
  text.add_text("signal", verdict.signal ? std::to_string(*verdict.signal) : "null");
  if (!verdict.limit.empty()) {
    text.add("limit", verdict.limit);
  }
  add_stream(text, "stdout", verdict.out);
  add_stream(text, "stderr", verdict.err);
  text.add_text("truncated", both_text(verdict.out.truncated, verdict.err.truncated));
  text.add_text("bytes", both_text(verdict.out.total, verdict.err.total));
  text.add_text("results", results_text(verdict.results));
  if (verdict.execution_count > 0) {
    text.add("execution_count", verdict.execution_count);
  }
  text.add_text("error", verdict.error ? error_text(*verdict.error) : "null");
  text.add_text("files", files_text(verdict.files));
  if (verdict.files_truncated) {
    text.add("files_truncated", true);
  }
  text.add_text("walls", walls_text(verdict.walls));
  text.add_text("limits", limits_text(verdict.limits));
  if (verdict.walls.network != "none") {
    text.add_text("connections", to_json(verdict.connections));
    if (verdict.more_connections > 0) {
      text.add("more_connections", verdict.more_connections);
    }
  }
  text.add_text("usage", usage_text(verdict.usage));
  text.add_text("timings", timings_text(verdict.timings));
  if (!verdict.notes.empty()) {
    text.add_text("notes", text_of(verdict.notes));
  }
  if (!verdict.checks.empty()) {
    text.add_text("checks", text_of(checks_json(verdict.checks)));
  }
  if (verdict.dry_run) {
    text.add_text("dry_run", to_json(*verdict.dry_run));
  }
  if (verdict.verification) {
    ObjectText verification;
    add_verdict(verification, *verdict.verification);
    text.add_text("verification", verification.take());
  }
}

// The member that every event has, behind its others.
constexpr std::string_view kVerdictType = R"(,"type":"verdict"})";

}  // namespace

std::string to_json(const Verdict& verdict) {
  ObjectText text;
  text.add("schema", schema_of("verdict"));
  add_verdict(text, verdict);
  return text.take();
}

std::string to_json(const Walls& walls) { return walls_text(walls); }

std::string started_event(std::string_view id, std::string_view phase) {
  ObjectText text;
  text.add("type", "started").add("id", id).add("phase", phase);
  return text.take();
}

std::string output_event(std::string_view stream, std::string_view bytes) {
  ObjectText text;
  text.add("type", stream).add("text", bytes);
  if (!is_utf8(bytes)) {
    text.add("base64", to_base64(bytes));
  }
  return text.take();
}

std::string result_event(const Event& event) {
  ObjectText text = result_text(event);
  text.add("type", "result");
  return text.take();
}

std::string error_event(const GuestError& error) {
  ObjectText text;
  text.add("type", "error")
      .add("name", error.name)
      .add("value", error.value)
      .add("traceback", error.traceback);
  return text.take();
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
  ObjectText text;
  for (const Timing& timing : timings) {
    text.add(timing.step + "_us", timing.took.count());
  }
  return text.take();
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
