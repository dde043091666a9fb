// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/sandbox_json.h"

#include <array>
#include <cstdio>

#include "base/text.h"
#include "base/time_text.h"
#include "spec/json/network_rules_json.h"
#include "spec/json/verdict_json.h"

namespace glovebox::rest {
namespace {

Json embedded(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(nullptr) : json;
}

Json to_json(const Environment& environment) {
  Json json = Json::object();
  for (const auto& [name, value] : environment) {
    json[to_utf8(name)] = to_utf8(value);
  }
  return json;
}

Json to_json(const Limits& limits) {
  Json json = Json::object();
  each_wish([&](const auto& field) { json[field.name] = limit_json(limits.*field.limit); });
  return json;
}

std::string_view name_of(FileEntry::Type type) {
  switch (type) {
    case FileEntry::Type::kFile:
      return "file";
    case FileEntry::Type::kDirectory:
      return "directory";
    case FileEntry::Type::kSymlink:
      return "symlink";
    case FileEntry::Type::kOther:
      return "other";
  }
  return "other";
}

}  // namespace

std::string to_text(SystemTime time) { return to_rfc3339(time); }

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const SandboxInfo& info) {
  Json metadata = Json::object();
  for (const auto& [name, value] : info.metadata) {
    metadata[to_utf8(name)] = to_utf8(value);
  }
  Json volumes = Json::array();
  for (const VolumeMount& mount : info.volumes) {
    volumes.push_back(
        {{"id", mount.volume}, {"path", to_utf8(mount.path)}, {"read_only", mount.read_only}});
  }
  return {{"id", info.id},
          {"template", info.template_name},
          {"tier", info.tier},
          {"state", info.state == SandboxState::kPaused ? "paused" : "running"},
          {"created", to_text(info.created)},
          {"expires", to_text(info.expires)},
          {"on_timeout", info.on_timeout == OnTimeout::kPause ? "pause" : "kill"},
          {"auto_resume", info.auto_resume},
          {"user", info.as_root ? "root" : "user"},
          {"nested", info.nested},
          {"policy", info.policies},
          {"limits", to_json(info.limits)},
          {"env", to_json(info.env)},
          {"metadata", std::move(metadata)},
          {"network", embedded(glovebox::to_json(info.network))},
          {"storage", info.storage == Storage::kDisk ? "disk" : "memory"},
          {"copies", info.shares_copies ? "shared" : "full"},
          {"volumes", std::move(volumes)},
          {"restarted", info.restarted},
          {"saved", info.saved.count > 0},
          {"walls", embedded(info.walls)}};
}

Json to_json(const SandboxUsage& usage) {
  return {{"at", to_text(usage.at)},
          {"cpus", usage.cpus},
          {"cpu_ms", static_cast<double>(usage.cpu_used.count()) / 1e3},
          {"memory", usage.memory_used.count},
          {"memory_limit", usage.memory_limit.count},
          {"disk", usage.disk_used.count},
          {"disk_limit", usage.disk_limit.count},
          {"pids", usage.pids}};
}

Json to_json(const SandboxConnections& connections) {
  return {{"connections", embedded(glovebox::to_json(connections.connections))},
          {"more_connections", connections.more}};
}

Json to_json(const ContextInfo& info) {
  return {{"id", info.id},
          {"language", info.language},
          {"cwd", to_utf8(info.cwd)},
          {"alive", info.alive},
          {"busy", info.busy}};
}

Json to_json(const ProcessInfo& info) {
  Json argv = Json::array();
  for (const std::string& argument : info.command.argv) {
    argv.push_back(to_utf8(argument));
  }
  return {{"pid", info.pid},
          {"argv", std::move(argv)},
          {"cwd", to_utf8(info.command.cwd)},
          {"env", to_json(info.command.env)},
          {"tag", to_utf8(info.tag)},
          {"terminal", info.terminal},
          {"alive", info.alive}};
}

Json to_json(const FileEntry& entry) {
  std::array<char, 8> mode{};
  (void)std::snprintf(mode.data(), mode.size(), "%04o", entry.mode & 07777U);
  Json json{{"path", to_utf8(entry.path)},
            {"type", name_of(entry.type)},
            {"size", entry.size},
            {"mode", mode.data()},
            {"owner", to_utf8(entry.owner)},
            {"group", to_utf8(entry.group)},
            {"modified", to_text(SystemTime(std::chrono::duration_cast<SystemTime::duration>(
                             std::chrono::nanoseconds(entry.modified_ns))))}};
  if (entry.type == FileEntry::Type::kSymlink) {
    json["target"] = to_utf8(entry.target);
    json["target_type"] = name_of(entry.target_type);
  }
  return json;
}

std::string to_line(const ProcessEvent& event) {
  switch (event.kind) {
    case ProcessEvent::Kind::kStarted:
      return to_line(Json{{"type", "started"}, {"pid", event.pid}});
    case ProcessEvent::Kind::kStdout:
      return output_event("stdout", event.bytes);
    case ProcessEvent::Kind::kStderr:
      return output_event("stderr", event.bytes);
    case ProcessEvent::Kind::kTerminal:
      return output_event("terminal", event.bytes);
    case ProcessEvent::Kind::kIdle:
      return {};
    case ProcessEvent::Kind::kEnded:
      return to_line(Json{{"type", "ended"},
                          {"pid", event.pid},
                          {"exit_code", event.exit_code},
                          {"signal", event.signal ? Json(*event.signal) : Json(nullptr)},
                          {"reason", to_string(event.reason)}});
  }
  return {};
}

}  // namespace glovebox::rest
