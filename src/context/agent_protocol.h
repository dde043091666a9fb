// SPDX-License-Identifier: Apache-2.0
// What an agent and we say to each other (agents/README.md), as values. An agent shares its process
// with the guest: what it says is parsed as hostile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/long_message.h"
#include "base/result.h"
#include "spec/code_place.h"
#include "spec/command.h"
#include "spec/event.h"
#include "spec/tool.h"

namespace glovebox::agent {

enum class Request : std::uint8_t {
  kExecute = 1,
  kInput = 2,
  kComplete = 3,
  kInspect = 4,
  kIsComplete = 5,
  kCheckpoint = 6,
  kFetch = 7,
  kVariables = 8,
  kEnd = 9,
  kToolResult = 10,
  kRenew = 11,
};

enum class Reply : std::uint8_t {
  kNotEntered = 63,
  kReady = 64,
  kStarted = 65,
  kStdout = 66,
  kStderr = 67,
  kDisplay = 68,
  kResult = 69,
  kError = 70,
  kInputRequest = 71,
  kClear = 72,
  kDone = 73,
  kReply = 74,
  kNote = 75,
  kToolCall = 76,
  kPart = kPartType,
};

// The longest message in one piece, and in parts.
inline constexpr std::size_t kMaxMessage = 64UL << 20;

struct ExecuteRequest {
  std::string_view code;
  bool silent = false;
  bool store_history = true;
  const Environment* env = nullptr;
  std::string_view cwd{};
  const std::vector<Tool>* tools = nullptr;
};
std::string encode(const ExecuteRequest& request);

// {"text":…}, or the end of input.
std::string encode_input(const std::string* text);

// What a call returns; `call` is the agent's number for it. kInvalid when the result is not JSON,
// or more than 100 levels deep.
Result<std::string> encode(std::uint32_t call, const ToolAnswer& answer);

// The payload of kComplete and kInspect. `detail` 1 asks for more than usual, such as the source.
std::string encode(std::string_view code, std::size_t cursor, int detail = 0);

// The answers to them. Fails with kConflict and the agent's own words if the agent could not do it.
// A completion is of code with that many code points; both are cut to a few megabytes.
Result<Completion> decode_completion(std::string_view payload, std::size_t length);
Result<Inspection> decode_inspection(std::string_view payload);

// {"id":…}
std::string encode_id(std::uint32_t id);

// The answer to kCheckpoint: what could not be carried along, one line each. Fails with the agent's
// own words when it could not do it.
Result<std::vector<std::string>> decode_checkpoint(std::string_view payload);

// A variable as the guest describes it: bounded, but every word of it is the guest's.
struct Variable {
  std::string name{};
  std::string type{};
  std::string size{};
  std::string value{};
  friend bool operator==(const Variable&, const Variable&) = default;
};
// The answer to kVariables, at most kMaxVariables of them, by name. Fails like decode_completion().
inline constexpr std::size_t kMaxVariables = 1'000;
Result<std::vector<Variable>> decode_variables(std::string_view payload);

struct Ready {
  std::string language;
  std::string version;
  std::vector<std::string> features;
};
Result<Ready> decode_ready(std::string_view payload);

struct Done {
  enum class Status { kOk, kError, kAborted };
  Status status = Status::kOk;
  int execution_count = 0;
};
Result<Done> decode_done(std::string_view payload);

struct ToolCall {
  static constexpr std::size_t kMaxArguments = 256UL * 1024;
  static constexpr std::size_t kMaxDepth = 32;

  std::uint32_t number = 0;  // The agent's.
  std::string name;
  std::string arguments;  // JSON text of an object, in one line. Empty if they are refused.
  std::string refusal;    // Why, in that case.
};
// Fails with kInvalid if the agent could not be answered.
Result<ToolCall> decode_tool_call(std::string_view payload);

// kStarted to kNote, except kDone and kReply. Fails with kInvalid if the payload is not valid.
Result<Event> decode_event(Reply type, std::string_view payload);

}  // namespace glovebox::agent
