// SPDX-License-Identifier: Apache-2.0
// The tools: each is one function, which answers one call.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/mcp/asking_execution.h"
#include "doors/mcp/call.h"
#include "doors/mcp/kept_outputs.h"
#include "doors/mcp/sandbox_features.h"
#include "doors/mcp/tool_arguments.h"
#include "doors/mcp/tool_result.h"
#include "sandbox/output.h"
#include "service/api/sandbox_service.h"

namespace glovebox::mcp {

struct ToolCall {
  const Call& call;
  SandboxService& service;
  const SandboxFeaturesOptions& options;
  KeptOutputs& outputs;
  ParkedExecutions& parked;
  ToolArguments arguments;

  // The sandbox that the arguments name, else that of the conversation, which is created at its
  // first use. Its time begins anew. Reads the argument "sandbox", so it comes after all others.
  Result<std::string> sandbox();
  // Notes where the call took place: a client without sessions has to name it from then on.
  void tell_sandbox(ToolResult& result, const std::string& sandbox) const;
};

// A new sandbox, ready to be used.
Result<std::string> make_sandbox(ToolCall& call, const SandboxRequest& request);

// A text that a guest made, as a member of the data and as content, unless it is empty. What is too
// long for a result is kept, and linked to.
void put_text(ToolCall& call,
              ToolResult& result,
              const std::string& member,
              const std::string& title,
              const std::string& text);

// Runs a program in the sandbox to its end, which is the result.
Result<ToolResult> run_process(ToolCall& call,
                               const std::string& sandbox,
                               const ProcessRequest& request);
// The same if the request continues a program whose client was asked (is_answer()).
Result<ToolResult> resume_process(ToolCall& call);

// Waits for the end of a process, or kills it once `wanted`, which is asked several times a second,
// says no. `out` gets its standard output and may say no, which ends it as well.
Result<ProcessEvent> follow_to_end(ToolCall& call,
                                   const std::string& sandbox,
                                   ProcessFeed& feed,
                                   const std::function<bool(std::string_view)>& out,
                                   OutputCapture& err);

// The verdict of a call whose client may be asked.
struct AskedVerdict {
  AskingExecution::Place place{};
  Json verdict{};
  // Not null: the result that asks the client, before there is a verdict.
  Json question{};
};
// Does the work and returns its verdict. A client that has forms is asked for the input of its
// code, and whether it may run if a policy asks that and the caller may decide. What the code
// prints is the call's progress.
Result<AskedVerdict> perform(ToolCall& call,
                             const AskingExecution::Place& place,
                             const AskingExecution::Work& work);
// Whether the request continues work that has asked its client.
bool is_answer(const Call& call);
Result<AskedVerdict> resume(ToolCall& call);

using Tool = Result<ToolResult> (*)(ToolCall& call);

// Calls the tool, and returns its result or, if `tool` is null, that its name is unknown.
Reply call_tool(Tool tool,
                const Call& call,
                SandboxService& service,
                const SandboxFeaturesOptions& options,
                KeptOutputs& outputs,
                ParkedExecutions& parked);

// Null for an unknown name.
Tool find_tool(std::string_view name);

Result<ToolResult> run_code(ToolCall& call);
Result<ToolResult> install_packages(ToolCall& call);
Result<ToolResult> run_command(ToolCall& call);
Result<ToolResult> search_files(ToolCall& call);
Result<ToolResult> read_file(ToolCall& call);
Result<ToolResult> write_file(ToolCall& call);
Result<ToolResult> edit_file(ToolCall& call);
Result<ToolResult> list_files(ToolCall& call);
Result<ToolResult> ports(ToolCall& call);
Result<ToolResult> checkpoint(ToolCall& call);
Result<ToolResult> rollback(ToolCall& call);
Result<ToolResult> finish_dry_run(ToolCall& call);
Result<ToolResult> fork(ToolCall& call);
Result<ToolResult> restart(ToolCall& call);
Result<ToolResult> list_languages(ToolCall& call);
Result<ToolResult> create_sandbox(ToolCall& call);
Result<ToolResult> delete_sandbox(ToolCall& call);

// The bytes of an output that belong on the page from `offset`, with where the next one begins.
struct Page {
  static constexpr std::uint64_t kMost = 65'536;

  std::string bytes{};
  std::uint64_t size = 0;  // Of the whole.
  std::optional<std::uint64_t> next{};
};
Page page_of(std::string_view bytes, std::uint64_t offset, std::uint64_t limit);
// The same for a file.
Result<Page> read_page(FileClient& files,
                       const std::string& path,
                       std::uint64_t offset,
                       std::uint64_t limit);

}  // namespace glovebox::mcp
