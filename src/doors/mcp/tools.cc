// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tools.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace glovebox::mcp {
namespace {

struct NamedTool {
  std::string_view name;
  Tool tool;
};
constexpr std::array<NamedTool, 17> kByName = {{{"run_code", run_code},
                                                {"run_command", run_command},
                                                {"read_file", read_file},
                                                {"write_file", write_file},
                                                {"edit_file", edit_file},
                                                {"list_files", list_files},
                                                {"search_files", search_files},
                                                {"install_packages", install_packages},
                                                {"ports", ports},
                                                {"checkpoint", checkpoint},
                                                {"rollback", rollback},
                                                {"finish_dry_run", finish_dry_run},
                                                {"fork", fork},
                                                {"restart", restart},
                                                {"list_languages", list_languages},
                                                {"create_sandbox", create_sandbox},
                                                {"delete_sandbox", delete_sandbox}}};

}  // namespace

Tool find_tool(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kByName, [&](const NamedTool& each) { return each.name == name; });
  return found == kByName.end() ? nullptr : found->tool;
}

Result<std::string> make_sandbox(ToolCall& call, const SandboxRequest& request) {
  const Caller& caller = call.call.caller();
  const std::string id = GB_TRY(call.service.create(caller, request)).id;
  if (call.options.prepare) {
    if (auto prepared = call.options.prepare(caller, id); !prepared) {
      (void)call.service.kill(caller, id);
      return std::move(prepared).error();
    }
  }
  return id;
}

Reply call_tool(Tool tool,
                const Call& call,
                SandboxService& service,
                const SandboxFeaturesOptions& options,
                KeptOutputs& outputs,
                ParkedExecutions& parked) {
  if (tool == nullptr) {
    return RpcError{.code = code::kInvalidParams,
                    .message = "unknown tool '" + printable(call.name().substr(0, 100)) + "'"};
  }
  ToolCall tool_call{.call = call,
                     .service = service,
                     .options = options,
                     .outputs = outputs,
                     .parked = parked,
                     .arguments = ToolArguments(call.arguments())};
  auto result = tool(tool_call);
  return result ? std::move(*result).json() : ToolResult::failure(result.error());
}

Result<std::string> ToolCall::sandbox() {
  std::string named = arguments.text("sandbox");
  GB_TRY(arguments.done());
  DefaultSandbox& own = call.conversation().sandbox();
  if (named.empty()) {
    const std::scoped_lock lock(own.mutex());
    named = own.id();
    // One whose time was over gets a successor.
    if (named.empty() || !service.find(call.caller(), named)) {
      named = GB_TRY(make_sandbox(*this, options.sandbox));
      own.set(named);
      return named;
    }
  }
  const SandboxInfo info = GB_TRY(service.find(call.caller(), named));
  if (info.expires - std::chrono::system_clock::now() < options.sandbox.timeout / 2) {
    GB_TRY(service.change(call.caller(), named, {.timeout = options.sandbox.timeout}));
  }
  return named;
}

void ToolCall::tell_sandbox(ToolResult& result, const std::string& sandbox) const {
  result.data()["sandbox"] = sandbox;
  if (!call.conversation().lasts()) {
    // Structured content does not reach every model.
    result.add_text("[sandbox: " + sandbox + "]");
  }
}

void put_text(ToolCall& call,
              ToolResult& result,
              const std::string& member,
              const std::string& title,
              const std::string& text) {
  if (text.empty()) {
    return;
  }
  const Excerpt shown = excerpt(text);
  result.data()[member] = shown.text;
  result.add_text(title + shown.text);
  if (!shown.cut) {
    return;
  }
  const std::string& tenant = call.call.caller().tenant;
  const std::string uri = call.outputs.keep(tenant, member, "text/plain", text);
  if (const auto kept = call.outputs.find(tenant, uri)) {
    result.data()["more"].push_back(uri);
    result.add_link(*kept);
  }
}

}  // namespace glovebox::mcp
