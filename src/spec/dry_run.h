// SPDX-License-Identifier: Apache-2.0
// DryRun: what an execution has changed that can still be taken back. Names, values, commands and
// contents are the guest's; all of them are bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/file_difference.h"

namespace glovebox {

struct DryRun {
  static constexpr std::size_t kMostFiles = 1'000;
  static constexpr std::size_t kMostFileBytes = 256UL * 1024;  // Of all paths.
  static constexpr std::size_t kMostDiffed = 64UL * 1024;      // Of a file whose diff is shown.
  static constexpr std::size_t kMostDiffBytes = 256UL * 1024;  // Of all diffs.
  static constexpr std::size_t kMostVariables = 300;           // Of each kind.
  static constexpr std::size_t kMostProcesses = 100;
  static constexpr std::size_t kMostHosts = 100;

  struct File {
    FileDifference what{};
    std::string diff{};  // Empty if none is shown.
  };
  struct Value {
    std::string type{};
    std::string value{};
    friend bool operator==(const Value&, const Value&) = default;
  };
  struct Variable {
    std::string name{};
    std::optional<Value> before{};
    std::optional<Value> now{};
  };
  struct Process {
    std::int64_t pid = 0;  // As the sandbox sees it; 0: unknown.
    std::string command{};
  };
  struct Host {
    std::string host{};
    std::uint32_t port = 0;
    std::string verdict{};  // What became of it, as for a connection.
    friend bool operator==(const Host&, const Host&) = default;
  };
  struct ToolCall {
    std::string name{};
    std::string arguments{};
  };

  std::string id{};       // Empty: nobody decides about it by a name.
  std::string context{};  // Empty: it is of a command, not of a context.
  std::optional<std::chrono::system_clock::time_point> expires{};
  std::vector<File> files{};
  bool files_truncated = false;  // There are more than are listed.
  // Absent: the interpreter did not say, or there is none.
  std::optional<std::vector<Variable>> variables{};
  bool variables_truncated = false;
  std::vector<Process> processes{};  // That were started, and live.
  std::vector<Host> hosts{};         // That it wanted to reach.
  std::vector<ToolCall> tool_calls{};
  std::optional<bool> committed{};  // Absent: nobody has decided yet.
};

}  // namespace glovebox
