// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/dry_run.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "doors/mcp/for_person.h"

namespace glovebox::mcp {
namespace {

constexpr std::size_t kMostChanges = 20;
constexpr std::size_t kMostShown = 160;

Json member(const Json& object, const char* name) {
  return object.is_object() ? object.value(name, Json()) : Json();
}

Json list(const Json& object, const char* name) {
  Json found = member(object, name);
  return found.is_array() ? found : Json::array();
}

// Of text files that it has added, modified or deleted.
std::string diffs_of(const Json& files) {
  std::string text;
  for (const char* const kind : {"added", "modified", "deleted"}) {
    for (const Json& each : list(files, kind)) {
      text += text_of(each, "diff");
    }
  }
  return AnsiStripper().strip(text);
}

}  // namespace

std::string dry_run_changes(const Json& run) {
  std::string text;
  std::size_t told = 0;
  const auto add = [&](const std::string& what, const Json& changes, const char* name) {
    for (const Json& each : changes) {
      if (++told <= kMostChanges) {
        text += "    " + what + " " + for_person(text_of(each, name), kMostShown) + "\n";
      }
    }
  };
  for (const char* const kind : {"added", "modified", "deleted"}) {
    add(std::string(kind) + " file", list(member(run, "files"), kind), "path");
  }
  for (const char* const kind : {"added", "changed", "removed"}) {
    add(std::string(kind) + " variable", list(member(run, "variables"), kind), "name");
  }
  add("started", list(run, "processes"), "command");
  add("wanted to reach", list(run, "hosts"), "host");
  if (told > kMostChanges) {
    text += "    and " + std::to_string(told - kMostChanges) + " more changes\n";
  }
  return text;
}

void put_dry_run(ToolCall& call, ToolResult& result, const Json& verdict) {
  const Json run = member(verdict, "dry_run");
  const std::string id = text_of(run, "id");
  if (id.empty()) {
    return;
  }
  const std::string changes = dry_run_changes(run) + diffs_of(member(run, "files"));
  put_text(call, result, "changes", "", changes.empty() ? "It has changed nothing.\n" : changes);
  Json told{{"id", id}};
  if (const Json kept = member(run, "committed"); kept.is_boolean()) {
    told["kept"] = kept;
    result.add_text(kept.get<bool>() ? "[dry run: the changes were kept]"
                                     : "[dry run: the changes were undone]");
  } else {
    told["expires"] = member(run, "expires");
    const std::string problem = text_of(run, "problem");
    result.add_text(problem.empty() ? "[dry run " + id +
                                          ": call finish_dry_run to keep or undo the changes; "
                                          "nothing else can change the sandbox before]"
                                    : "[dry run: " + problem + "]");
  }
  result.data()["dry_run"] = std::move(told);
}

Result<ToolResult> finish_dry_run(ToolCall& call) {
  const bool keep = call.arguments.required_flag("keep");
  std::string id = call.arguments.text("dry_run");
  const std::string sandbox = GB_TRY(call.sandbox());
  const Caller& caller = call.call.caller();
  if (id.empty()) {
    for (const std::string& each : GB_TRY(call.service.dry_runs(caller, sandbox))) {
      id = text_of(Json::parse(each, nullptr, false), "id");
    }
  }
  if (id.empty() && keep) {
    return Error(ErrorCode::kNotFound, "no dry run of this sandbox waits for a decision",
                 "it may have expired, which undoes it; run the code again");
  }
  if (!id.empty()) {
    GB_TRY(call.service.decide_dry_run(caller, sandbox, id, {.commit = keep}));
  }
  ToolResult result;
  result.data()["kept"] = keep;
  result.add_text(keep         ? "the changes were kept"
                  : id.empty() ? "no dry run waits: there is nothing to undo"
                               : "the changes were undone");
  call.tell_sandbox(result, sandbox);
  return result;
}

}  // namespace glovebox::mcp
