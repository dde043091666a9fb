// SPDX-License-Identifier: Apache-2.0
#include "spec/json/dry_run_json.h"

#include "base/json/json.h"
#include "base/text.h"
#include "base/time_text.h"

namespace glovebox {
namespace {

using Json = nlohmann::ordered_json;
using Kind = FileDifference::Kind;
using Type = FileDifference::Type;

const char* name_of(Type type) {
  switch (type) {
    case Type::kFile:
      return "file";
    case Type::kDirectory:
      return "directory";
    case Type::kLink:
      return "symlink";
    case Type::kOther:
      break;
  }
  return "other";
}

Json file_json(const DryRun::File& file) {
  const FileDifference& what = file.what;
  Json json{{"path", to_utf8(what.path)}, {"type", name_of(what.type)}};
  json["size"] = what.kind == Kind::kDeleted ? what.size_before : what.size;
  if (what.kind == Kind::kModified) {
    json["size_before"] = what.size_before;
    if (what.mode != what.mode_before) {
      json["mode"] = what.mode;
      json["mode_before"] = what.mode_before;
    }
  }
  if (!file.diff.empty()) {
    json["diff"] = to_utf8(file.diff);
  }
  return json;
}

Json files_json(const DryRun& run) {
  Json json{{"added", Json::array()}, {"modified", Json::array()}, {"deleted", Json::array()}};
  for (const DryRun::File& file : run.files) {
    json[file.what.kind == Kind::kAdded     ? "added"
         : file.what.kind == Kind::kDeleted ? "deleted"
                                            : "modified"]
        .push_back(file_json(file));
  }
  json["truncated"] = run.files_truncated;
  return json;
}

Json variables_json(const DryRun& run) {
  Json json{{"added", Json::array()}, {"changed", Json::array()}, {"removed", Json::array()}};
  for (const DryRun::Variable& each : *run.variables) {
    const DryRun::Value& shown = each.now ? *each.now : each.before.value_or(DryRun::Value());
    Json one{{"name", to_utf8(each.name)},
             {"type", to_utf8(shown.type)},
             {"value", to_utf8(shown.value)}};
    if (each.now && each.before) {
      one["type_before"] = to_utf8(each.before->type);
      one["value_before"] = to_utf8(each.before->value);
    }
    json[!each.before ? "added" : each.now ? "changed" : "removed"].push_back(std::move(one));
  }
  json["truncated"] = run.variables_truncated;
  return json;
}

}  // namespace

std::string to_json(const DryRun& run) {
  Json json = Json::object();
  if (!run.id.empty()) {
    json["id"] = run.id;
    if (!run.context.empty()) {
      json["context"] = run.context;
    }
  }
  if (run.expires) {
    json["expires"] = to_rfc3339(*run.expires);
  }
  json["files"] = files_json(run);
  if (run.variables) {
    json["variables"] = variables_json(run);
  }
  Json processes = Json::array();
  for (const DryRun::Process& each : run.processes) {
    processes.push_back({{"pid", each.pid}, {"command", to_utf8(each.command)}});
  }
  json["processes"] = std::move(processes);
  Json hosts = Json::array();
  for (const DryRun::Host& each : run.hosts) {
    hosts.push_back({{"host", to_utf8(each.host)}, {"port", each.port}, {"verdict", each.verdict}});
  }
  json["hosts"] = std::move(hosts);
  Json calls = Json::array();
  for (const DryRun::ToolCall& each : run.tool_calls) {
    calls.push_back({{"name", to_utf8(each.name)}, {"arguments", to_utf8(each.arguments)}});
  }
  json["tool_calls"] = std::move(calls);
  if (run.committed) {
    json["committed"] = *run.committed;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace glovebox
