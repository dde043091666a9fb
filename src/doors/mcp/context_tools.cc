// SPDX-License-Identifier: Apache-2.0
// Tools for interpreters and sandboxes as a whole.
#include <utility>

#include "doors/mcp/tools.h"

namespace glovebox::mcp {
namespace {

std::string context_in(ToolCall& call) {
  const std::string named = call.arguments.text("context");
  return named.empty() ? std::string(kDefaultContext) : named;
}

std::optional<std::uint32_t> checkpoint_in(ToolCall& call) {
  const auto number = call.arguments.count("checkpoint", 0xffff'ffff);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

}  // namespace

Result<ToolResult> checkpoint(ToolCall& call) {
  const std::string context = context_in(call);
  const std::string sandbox = GB_TRY(call.sandbox());
  const std::uint32_t number =
      GB_TRY(call.service.checkpoint(call.call.caller(), sandbox, context));
  ToolResult result;
  result.data()["checkpoint"] = number;
  result.data()["context"] = context;
  result.add_text("made checkpoint " + std::to_string(number) + " of context " + context);
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> rollback(ToolCall& call) {
  const std::string context = context_in(call);
  const auto wanted = checkpoint_in(call);
  const std::string sandbox = GB_TRY(call.sandbox());
  auto number = call.service.rollback(call.call.caller(), sandbox, context, wanted);
  if (!number) {
    return number.error().code() == ErrorCode::kNotFound
               ? std::move(number).error().with_hint("make one with checkpoint")
               : std::move(number).error();
  }
  ToolResult result;
  result.data()["checkpoint"] = *number;
  result.data()["context"] = context;
  result.add_text("memory and files are as they were at checkpoint " + std::to_string(*number));
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> fork(ToolCall& call) {
  const std::string context = context_in(call);
  const auto wanted = checkpoint_in(call);
  const std::string sandbox = GB_TRY(call.sandbox());
  const Caller& caller = call.call.caller();
  const std::uint32_t from =
      wanted ? *wanted : GB_TRY(call.service.checkpoint(caller, sandbox, context));
  const ContextInfo made = GB_TRY(call.service.fork_context(caller, sandbox, context, from));
  ToolResult result;
  result.data()["context"] = made.id;
  if (!made.cwd.empty()) {
    result.data()["cwd"] = made.cwd;
  }
  result.data()["checkpoint"] = from;
  result.add_text("context " + made.id + " has the memory of context " + context +
                  " at checkpoint " + std::to_string(from));
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> restart(ToolCall& call) {
  const std::string context = context_in(call);
  const std::string sandbox = GB_TRY(call.sandbox());
  GB_TRY(call.service.restart_context(call.call.caller(), sandbox, context));
  ToolResult result;
  result.data()["context"] = context;
  result.add_text("context " + context + " is new: its variables are lost, the files are kept");
  call.tell_sandbox(result, sandbox);
  return result;
}

Result<ToolResult> list_languages(ToolCall& call) {
  GB_TRY(call.arguments.done());
  const Json known = Json::parse(GB_TRY(call.service.languages()), nullptr, false);
  Json ready = Json::array();
  std::string text;
  if (known.is_object() && known.contains("languages")) {
    for (const Json& language : known["languages"]) {
      if (!language.value("ready", false)) {
        continue;
      }
      const std::string id = language.value("id", "");
      const std::string version = language.value("version", "");
      text += id + (version.empty() ? "" : " " + version) + "\n";
      ready.push_back({{"id", id}, {"version", version}});
    }
  }
  ToolResult result;
  result.data()["languages"] = std::move(ready);
  result.add_text(text);
  return result;
}

Result<ToolResult> create_sandbox(ToolCall& call) {
  SandboxRequest request = call.options.sandbox;
  request.image = call.arguments.text("image");
  request.wanted = [&call] { return !call.call.cancellation().canceled(); };
  GB_TRY(call.arguments.done());
  const std::string sandbox = GB_TRY(make_sandbox(call, request));
  ToolResult result;
  result.data()["sandbox"] = sandbox;
  result.add_text("created sandbox " + sandbox);
  return result;
}

Result<ToolResult> delete_sandbox(ToolCall& call) {
  std::string sandbox = call.arguments.text("sandbox");
  GB_TRY(call.arguments.done());
  DefaultSandbox& own = call.call.conversation().sandbox();
  const std::scoped_lock lock(own.mutex());
  sandbox = sandbox.empty() ? own.id() : sandbox;
  if (sandbox == own.id()) {
    own.set({});
  }
  if (!sandbox.empty()) {
    GB_TRY(call.service.kill(call.call.caller(), sandbox));
  }
  ToolResult result;
  result.add_text(sandbox.empty() ? "there was no sandbox" : "deleted sandbox " + sandbox);
  return result;
}

}  // namespace glovebox::mcp
