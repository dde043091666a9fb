// SPDX-License-Identifier: Apache-2.0
// Values of the service's interface as JSON, which crosses between a daemon and its keeper as CBOR
// (cbor.h).
//
// What is missing or of another type is a default value and never an error: the daemon may have
// been taken over, and what it wants is checked where it is carried out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "service/api/sandbox_service.h"
#include "service/keeper/cbor.h"
#include "service/keeper/keeper.h"

namespace glovebox::keeper {

nlohmann::json to_json(const Environment& env);
nlohmann::json to_json(const Limits& limits);
nlohmann::json to_json(const LimitWishes& wishes);
nlohmann::json to_json(const CreateOrder& order);
nlohmann::json to_json(const NetworkOrder& order);
nlohmann::json to_json(const SandboxUsage& usage);
nlohmann::json to_json(const SandboxConnections& connections);
nlohmann::json to_json(const Ending& ending);
nlohmann::json to_json(const ContextRequest& request);
nlohmann::json to_json(const ContextInfo& info);
nlohmann::json to_json(const ExecuteRequest& request);
nlohmann::json to_json(const InputReply& reply);
nlohmann::json to_json(const ToolReply& reply);
nlohmann::json to_json(const ToolWait& wait);
nlohmann::json to_json(const CodePlace& place);
nlohmann::json to_json(const Completion& completion);
nlohmann::json to_json(const Inspection& inspection);
nlohmann::json to_json(const RunRequest& request);
nlohmann::json to_json(const JudgeRequest& request);
nlohmann::json to_json(const ProcessRequest& request);
nlohmann::json to_json(const ProcessInfo& info);
nlohmann::json to_json(const ProcessEvent& event);

Environment to_environment(const nlohmann::json& json);
Limits to_limits(const nlohmann::json& json);
LimitWishes to_limit_wishes(const nlohmann::json& json);
CreateOrder to_create_order(const nlohmann::json& json);
// Nothing if `json` is not an order: rules that cannot be read allow nothing.
std::optional<NetworkOrder> to_network_order(const nlohmann::json& json);
SandboxUsage to_usage(const nlohmann::json& json);
SandboxConnections to_connections(const nlohmann::json& json);
ContextRequest to_context_request(const nlohmann::json& json);
ContextInfo to_context_info(const nlohmann::json& json);
ExecuteRequest to_execute_request(const nlohmann::json& json);
InputReply to_input_reply(const nlohmann::json& json);
ToolReply to_tool_reply(const nlohmann::json& json);
ToolWait to_tool_wait(const nlohmann::json& json);
CodePlace to_code_place(const nlohmann::json& json);
Completion to_completion(const nlohmann::json& json);
Inspection to_inspection(const nlohmann::json& json);
RunRequest to_run_request(const nlohmann::json& json);
JudgeRequest to_judge_request(const nlohmann::json& json);
ProcessRequest to_process_request(const nlohmann::json& json);
ProcessInfo to_process_info(const nlohmann::json& json);
ProcessEvent to_process_event(const nlohmann::json& json);

// Milliseconds since the epoch, and back.
std::int64_t to_ms(SystemTime time);
SystemTime to_time(std::int64_t ms);

}  // namespace glovebox::keeper
