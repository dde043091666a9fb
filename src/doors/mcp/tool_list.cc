// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/tool_list.h"

#include <string>
#include <string_view>
#include <utility>

#include "doors/mcp/app.h"

namespace glovebox::mcp {
namespace {

// tool_list() adds the argument "sandbox" to each schema, unless takes_sandbox() says no.
constexpr std::string_view kTools = R"json([
{"name":"run_code","title":"Run code",
 "description":"Run code in a live interpreter that keeps variables between calls. Returns output, the last expression's value, and plots as images. Languages without a live interpreter run as whole programs in a fresh sandbox without your files.",
 "inputSchema":{"type":"object","properties":{
  "code":{"type":"string"},
  "language":{"type":"string","description":"Default python; see list_languages"},
  "context":{"type":"string","description":"Interpreter from an earlier result, or \"new\"; default: the language's own"},
  "fresh":{"type":"boolean","description":"Run once in a sandbox that is deleted afterwards"},
  "dry_run":{"type":"boolean","description":"Return what it changes, which waits for finish_dry_run"},
  "timeout":{"type":"number","description":"Seconds"}},"required":["code"]},
 "outputSchema":{"type":"object","properties":{
  "status":{"type":"string","description":"ok, error, compile_error, timeout, out_of_memory, ..."},
  "stdout":{"type":"string"},"stderr":{"type":"string"},"result":{"type":"string"},
  "error":{"type":"object"},"exit_code":{"type":"integer"},
  "context":{"type":"string"},"sandbox":{"type":"string"},
  "more":{"type":"array","items":{"type":"string"},"description":"URIs of complete outputs, for read_file"}},
  "required":["status"]},
 "annotations":{"destructiveHint":true}},
{"name":"run_command","title":"Run a command",
 "description":"Run a shell command in the sandbox and wait for its end.",
 "inputSchema":{"type":"object","properties":{
  "command":{"type":"string"},
  "cwd":{"type":"string"},
  "dry_run":{"type":"boolean"},
  "timeout":{"type":"number","description":"Seconds"}},"required":["command"]},
 "outputSchema":{"type":"object","properties":{
  "status":{"type":"string"},"exit_code":{"type":"integer"},
  "stdout":{"type":"string"},"stderr":{"type":"string"},
  "sandbox":{"type":"string"},"more":{"type":"array","items":{"type":"string"}}},
  "required":["status"]},
 "annotations":{"destructiveHint":true}},
{"name":"read_file","title":"Read a file",
 "description":"Read a file as text; images are shown. Also takes the URI of a kept output.",
 "inputSchema":{"type":"object","properties":{
  "path":{"type":"string"},
  "offset":{"type":"integer","description":"First byte"},
  "limit":{"type":"integer","description":"Bytes, at most 65536"}},"required":["path"]},
 "outputSchema":{"type":"object","properties":{
  "size":{"type":"integer"},"text":{"type":"string"},"base64":{"type":"string"},
  "next_offset":{"type":"integer","description":"Where to go on"}},"required":["size"]},
 "annotations":{"readOnlyHint":true}},
{"name":"write_file","title":"Write a file",
 "description":"Create or replace a file, with its directories.",
 "inputSchema":{"type":"object","properties":{
  "path":{"type":"string"},"content":{"type":"string"},
  "base64":{"type":"boolean","description":"content is base64"},
  "append":{"type":"boolean"}},"required":["path","content"]},
 "annotations":{"destructiveHint":true,"idempotentHint":true}},
{"name":"edit_file","title":"Edit a file",
 "description":"Replace a text that occurs exactly once in a file.",
 "inputSchema":{"type":"object","properties":{
  "path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},
  "all":{"type":"boolean","description":"Replace every occurrence"}},"required":["path","old","new"]},
 "annotations":{"destructiveHint":true}},
{"name":"list_files","title":"List files",
 "description":"List a directory of the sandbox.",
 "inputSchema":{"type":"object","properties":{
  "path":{"type":"string","description":"Default: the workspace"},
  "depth":{"type":"integer","description":"Levels, default 1"}}},
 "outputSchema":{"type":"object","properties":{
  "entries":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"}},"required":["entries"]},
 "annotations":{"readOnlyHint":true}},
{"name":"search_files","title":"Search files",
 "description":"Find lines that match an extended regular expression.",
 "inputSchema":{"type":"object","properties":{
  "pattern":{"type":"string"},
  "path":{"type":"string","description":"Default: the workspace"},
  "glob":{"type":"string","description":"File names, such as *.py"}},"required":["pattern"]},
 "outputSchema":{"type":"object","properties":{
  "matches":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"}},"required":["matches"]},
 "annotations":{"readOnlyHint":true}},
{"name":"install_packages","title":"Install packages",
 "description":"Install packages for Python or Node.js into the sandbox.",
 "inputSchema":{"type":"object","properties":{
  "packages":{"type":"array","items":{"type":"string"},"description":"pip:NAME[==VERSION] or npm:NAME[@VERSION]"},
  "timeout":{"type":"number","description":"Seconds"}},"required":["packages"]},
 "annotations":{"destructiveHint":false,"idempotentHint":true}},
{"name":"ports","title":"Ports",
 "description":"List the ports that programs in the sandbox listen on or, with port, send an HTTP request to one.",
 "inputSchema":{"type":"object","properties":{
  "port":{"type":"integer"},"method":{"type":"string"},"path":{"type":"string"},
  "headers":{"type":"array","items":{"type":"string"},"description":"Lines: \"Name: value\""},
  "body":{"type":"string"},"timeout":{"type":"number","description":"Seconds"}}},
 "outputSchema":{"type":"object","properties":{
  "ports":{"type":"array","items":{"type":"object"}},
  "status":{"type":"integer"},"head":{"type":"string"},"body":{"type":"string"}}},
 "annotations":{"destructiveHint":true}},
{"name":"checkpoint","title":"Checkpoint",
 "description":"Remember an interpreter's memory and the files, to roll back to.",
 "inputSchema":{"type":"object","properties":{"context":{"type":"string"}}},
 "outputSchema":{"type":"object","properties":{"checkpoint":{"type":"integer"}},"required":["checkpoint"]},
 "annotations":{"destructiveHint":false}},
{"name":"rollback","title":"Roll back",
 "description":"Put memory and files back to a checkpoint, also after a crash.",
 "inputSchema":{"type":"object","properties":{"context":{"type":"string"},
  "checkpoint":{"type":"integer","description":"Default: the newest"}}},
 "outputSchema":{"type":"object","properties":{"checkpoint":{"type":"integer"}},"required":["checkpoint"]},
 "annotations":{"destructiveHint":true}},
{"name":"finish_dry_run","title":"Finish a dry run",
 "description":"Keep what a dry run has changed, or undo it.",
 "inputSchema":{"type":"object","properties":{"keep":{"type":"boolean"},
  "dry_run":{"type":"string","description":"Its id; default: the one that waits"}},"required":["keep"]},
 "outputSchema":{"type":"object","properties":{"kept":{"type":"boolean"}},"required":["kept"]},
 "annotations":{"destructiveHint":true}},
{"name":"fork","title":"Fork",
 "description":"Start another interpreter with the memory of a checkpoint or, by default, of now. It works in a copy of the files.",
 "inputSchema":{"type":"object","properties":{"context":{"type":"string"},"checkpoint":{"type":"integer"}}},
 "outputSchema":{"type":"object","properties":{"context":{"type":"string"},"cwd":{"type":"string"}},"required":["context"]},
 "annotations":{"destructiveHint":false}},
{"name":"restart","title":"Restart an interpreter",
 "description":"Replace an interpreter by a new one: variables are lost, files stay.",
 "inputSchema":{"type":"object","properties":{"context":{"type":"string"}}},
 "annotations":{"destructiveHint":true}},
{"name":"list_languages","title":"List languages",
 "description":"List the languages that run_code takes.",
 "inputSchema":{"type":"object","properties":{}},
 "annotations":{"readOnlyHint":true}},
{"name":"create_sandbox","title":"Create a sandbox",
 "description":"Create a separate sandbox. Pass its handle as sandbox to other tools.",
 "inputSchema":{"type":"object","properties":{
  "image":{"type":"string","description":"Container image to show instead, such as node:22; needs a network"}}},
 "outputSchema":{"type":"object","properties":{"sandbox":{"type":"string"}},"required":["sandbox"]},
 "annotations":{"destructiveHint":false}},
{"name":"delete_sandbox","title":"Delete a sandbox",
 "description":"Delete a sandbox with its files and interpreters. Without sandbox: the default one; the next call gets a fresh one.",
 "inputSchema":{"type":"object","properties":{}},
 "annotations":{"destructiveHint":true,"idempotentHint":true}}
])json";

bool takes_sandbox(const std::string& name) {
  return name != "list_languages" && name != "create_sandbox";
}

}  // namespace

bool may_be_task(std::string_view tool) {
  return tool == "run_code" || tool == "run_command" || tool == "install_packages";
}

Json tool_list(const ToolChoice& choice) {
  Json tools = Json::array();
  for (Json& tool : Json::parse(kTools)) {
    const std::string name = tool["name"];
    if (name == "install_packages" && !choice.packages) {
      continue;
    }
    if (takes_sandbox(name)) {
      tool["inputSchema"]["properties"]["sandbox"] = {{"type", "string"}};
    }
    // Misspelled arguments are refused, not ignored.
    tool["inputSchema"]["additionalProperties"] = false;
    // Nothing leaves the sandbox except what its network rules allow.
    tool["annotations"]["openWorldHint"] = false;
    if (choice.app && name == "run_code") {
      tool["_meta"] = app_of_tool();
    }
    if (choice.tasks && may_be_task(name)) {
      tool["execution"] = {{"taskSupport", "optional"}};
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

}  // namespace glovebox::mcp
