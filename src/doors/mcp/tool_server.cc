// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tool_server.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace glovebox::mcp {
namespace {

constexpr std::size_t kMostWords = 1'024;
constexpr std::size_t kMostVariables = 256;

// The model writes code as its whole message, so the schema of `python` is not for its prompt; nor
// is the tool that only the inference server calls.
constexpr std::string_view kPythonTools = R"json([
{"name":"python","title":"Run Python code",
 "description":"Run Python code in a stateful Jupyter-like session. Returns what it prints and the value of the last expression.",
 "inputSchema":{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]},
 "annotations":{"include_in_prompt":false,"destructiveHint":true}}
])json";
constexpr std::string_view kContainerTools = R"json([
{"name":"exec","title":"Run a command",
 "description":"Run a command in the container and return its output.",
 "inputSchema":{"type":"object","properties":{
  "cmd":{"type":"array","items":{"type":"string"},"description":"Program and arguments; for a shell: [\"bash\",\"-lc\",\"...\"]"},
  "workdir":{"type":"string"},
  "env":{"type":"object","additionalProperties":{"type":"string"}},
  "timeout":{"type":"number","description":"Seconds"}},"required":["cmd"]},
 "annotations":{"destructiveHint":true}}
])json";
constexpr std::string_view kCleanUp = R"json(
{"name":"cleanup_session","title":"End the session",
 "description":"Delete the sandbox of this session.",
 "inputSchema":{"type":"object","properties":{}},
 "annotations":{"include_in_prompt":false,"destructiveHint":true,"idempotentHint":true}})json";

Result<ToolResult> run_python(ToolCall& call) {
  const Params code{{"code", call.arguments.required_text("code")}};
  GB_TRY(call.arguments.done());
  ToolCall inner{.call = call.call,
                 .service = call.service,
                 .options = call.options,
                 .outputs = call.outputs,
                 .parked = call.parked,
                 .arguments = ToolArguments(code)};
  return run_code(inner);
}

Result<ToolResult> run_exec(ToolCall& call) {
  ProcessRequest request;
  request.command.argv = call.arguments.texts("cmd", kMostWords);
  request.command.cwd = call.arguments.text("workdir");
  request.command.env = call.arguments.environment("env", kMostVariables);
  request.timeout =
      call.arguments.seconds("timeout", call.options.most_time).value_or(call.options.time);
  // One sandbox is one session, whatever the model calls it.
  (void)call.arguments.text("session_name");
  GB_TRY(call.arguments.done());
  const auto& argv = request.command.argv;
  if (argv.empty() || argv.front().empty()) {
    return Error(ErrorCode::kInvalid, "argument 'cmd' must name a program",
                 "pass [\"bash\", \"-lc\", \"...\"] for a shell command");
  }
  const bool has_nul = std::ranges::any_of(
      argv, [](const std::string& word) { return word.find('\0') != std::string::npos; });
  if (has_nul || request.command.cwd.find('\0') != std::string::npos) {
    return Error(ErrorCode::kInvalid, "an argument has a NUL character");
  }
  return is_answer(call.call) ? resume_process(call)
                              : run_process(call, GB_TRY(call.sandbox()), request);
}

Tool tool_of(ToolServer::Kind kind, std::string_view name) {
  if (name == "cleanup_session") {
    return delete_sandbox;
  }
  if (kind == ToolServer::Kind::kPython) {
    return name == "python" ? run_python : nullptr;
  }
  return name == "exec" ? run_exec : nullptr;
}

// The first content is all that vLLM reads.
Json as_one_text(Json result) {
  std::string text;
  for (const Json& each : result["content"]) {
    const std::string type = each.value("type", "");
    if (type == "text") {
      text += (text.empty() || text.ends_with('\n') ? "" : "\n") + each.value("text", "");
    } else if (type == "image") {
      text += text.empty() || text.ends_with('\n') ? "" : "\n";
      text += "[an image, " + each.value("mimeType", "") + "; save it to a file to keep it]";
    }
  }
  Json whole{{"content", Json::array({{{"type", "text"}, {"text", std::move(text)}}})}};
  if (result.value("isError", false)) {
    whole["isError"] = true;
  }
  return whole;
}

}  // namespace

ToolServer::ToolServer(Kind kind, SandboxService& service, SandboxFeaturesOptions options)
    : kind_(kind), service_(service), options_(std::move(options)) {}

Features::Info ToolServer::info() const {
  // Clients find the server by this name.
  return {.name = kind_ == Kind::kPython ? "python" : "container",
          .title = "Glovebox",
          .version = GB_VERSION};
}

std::string ToolServer::instructions() const {
  const std::string network = options_.sandbox.network.allow.empty()
                                  ? " It has no network."
                                  : " It reaches only the hosts that its rules allow.";
  if (kind_ == Kind::kPython) {
    return "Execute Python code in a stateful session like a Jupyter notebook: variables, imports "
           "and files stay from message to message. What is printed and the value of the last "
           "expression are returned." +
           network;
  }
  return "Run commands in a container whose files stay from call to call." + network;
}

Json ToolServer::capabilities(bool /*stateless*/) const { return {{"tools", Json::object()}}; }

std::optional<Reply> ToolServer::handle(const Call& call) {
  if (call.method() == "tools/list") {
    return Json{{"tools", list_tools()}};
  }
  return call.method() == "tools/call" ? std::optional(call_tool(call)) : std::nullopt;
}

Json ToolServer::list_tools() const {
  Json tools = Json::parse(kind_ == Kind::kPython ? kPythonTools : kContainerTools);
  tools.push_back(Json::parse(kCleanUp));
  return tools;
}

Reply ToolServer::call_tool(const Call& call) {
  Reply reply =
      mcp::call_tool(tool_of(kind_, call.name()), call, service_, options_, outputs_, parked_);
  if (auto* const result = std::get_if<Json>(&reply)) {
    return as_one_text(std::move(*result));
  }
  return reply;
}

}  // namespace glovebox::mcp
