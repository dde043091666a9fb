// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/process_json.h"

#include <cstring>

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace glovebox::e2b {
namespace {

constexpr std::size_t kMaxOutput = 32 * 1024;
constexpr std::size_t kMaxTerminalOutput = 16 * 1024;

Json message(const char* kind, Json event) { return {{"event", {{kind, std::move(event)}}}}; }

std::vector<Json> output_json(const char* stream, std::string_view bytes, std::size_t most) {
  std::vector<Json> messages;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, most);
    bytes.remove_prefix(piece.size());
    messages.push_back(message("data", {{stream, to_base64(piece)}}));
  }
  return messages;
}

}  // namespace

Json process_json(const ProcessInfo& process) {
  const Command& command = process.command;
  Json config{{"cmd", command.argv.empty() ? "" : to_utf8(command.argv.front())},
              {"args", Json::array()},
              {"envs", Json::object()}};
  for (std::size_t i = 1; i < command.argv.size(); ++i) {
    config["args"].push_back(to_utf8(command.argv[i]));
  }
  for (const auto& [name, value] : command.env) {
    config["envs"][to_utf8(name)] = to_utf8(value);
  }
  if (!command.cwd.empty()) {
    config["cwd"] = to_utf8(command.cwd);
  }
  Json json{{"config", std::move(config)}, {"pid", process.pid}};
  if (!process.tag.empty()) {
    json["tag"] = to_utf8(process.tag);
  }
  return json;
}

std::string end_status(int exit_code, std::optional<int> signal) {
  if (!signal) {
    return "exit status " + std::to_string(exit_code);
  }
  const char* description = ::sigdescr_np(*signal);
  std::string text = description != nullptr ? description : "signal " + std::to_string(*signal);
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return "signal: " + text;
}

std::vector<Json> event_json(const ProcessEvent& event) {
  switch (event.kind) {
    case ProcessEvent::Kind::kStarted:
      return {message("start", {{"pid", event.pid}})};
    case ProcessEvent::Kind::kStdout:
      return output_json("stdout", event.bytes, kMaxOutput);
    case ProcessEvent::Kind::kStderr:
      return output_json("stderr", event.bytes, kMaxOutput);
    case ProcessEvent::Kind::kTerminal:
      return output_json("pty", event.bytes, kMaxTerminalOutput);
    case ProcessEvent::Kind::kIdle:
      return {};
    case ProcessEvent::Kind::kEnded:
      break;
  }
  const std::string status = end_status(event.exit_code, event.signal);
  Json end{{"exitCode", event.signal ? -1 : event.exit_code},
           {"exited", !event.signal},
           {"status", status}};
  if (event.signal || event.exit_code != 0) {
    // The SDKs show this text, and have no other field for it.
    end["error"] = event.reason == Status::kOutOfMemory ? status + " (out of memory)"
                   : event.reason == Status::kTimeout   ? status + " (time limit)"
                                                        : status;
  }
  return {message("end", std::move(end))};
}

}  // namespace glovebox::e2b
