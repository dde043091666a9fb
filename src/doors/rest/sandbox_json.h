// SPDX-License-Identifier: Apache-2.0
// What the REST door reads and writes as JSON.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "doors/rest/fields.h"
#include "service/api/sandbox_service.h"

namespace glovebox::rest {

// "2026-11-21T08:00:00.123Z"
std::string to_text(SystemTime time);

Json to_json(const SandboxInfo& info);
Json to_json(const SandboxUsage& usage);
Json to_json(const SandboxConnections& connections);
Json to_json(const ContextInfo& info);
Json to_json(const ProcessInfo& info);
Json to_json(const FileEntry& entry);
std::string to_line(const ProcessEvent& event);  // Empty for kIdle.
std::string to_line(const Json& json);

// Reads the field "limits"; nothing is set if it is absent.
Result<LimitWishes> read_limits(Fields& fields);
// The field `network`, with the hosts of its secrets allowed; nothing if it is absent.
Result<std::optional<NetworkRules>> read_network(Fields& fields);

// One limit as answers have it: seconds for a time, else a number.
template <typename T>
Json limit_json(const T& value) {
  if constexpr (std::is_same_v<T, std::chrono::milliseconds>) {
    return static_cast<double>(value.count()) / 1000;
  } else {
    return to_plain(value);
  }
}
Result<SandboxRequest> read_sandbox_request(Fields& fields);
Result<SandboxChange> read_sandbox_change(Fields& fields);
Result<RunRequest> read_run_request(Fields& fields);
Result<JudgeRequest> read_judge_request(Fields& fields);
Result<ExecuteRequest> read_execute_request(Fields& fields);
Result<InputReply> read_input_reply(Fields& fields);
Result<ToolAnswer> read_tool_answer(Fields& fields);
Result<CodePlace> read_completion_request(Fields& fields);
struct InspectionRequest {
  CodePlace place{};
  int detail = 0;
};
Result<InspectionRequest> read_inspection_request(Fields& fields);
Result<ContextRequest> read_context_request(Fields& fields);
Result<ProcessRequest> read_process_request(Fields& fields);
struct CommandRequest {
  ProcessRequest process{};
  std::string input{};
  Bytes output{};  // Kept of each stream.
};
Result<CommandRequest> read_command_request(Fields& fields);
// "SIGINT", "INT" or a number.
Result<int> read_signal(Fields& fields);
Result<ProcessRequest::Terminal> read_terminal(Fields& fields);

}  // namespace glovebox::rest
