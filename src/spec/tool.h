// SPDX-License-Identifier: Apache-2.0
// Tools: functions of the client's that code in a sandbox may call while it is executed.
//
// The client offers them with an execution. What the code passes is hostile to the client, and what
// the client returns is the code's own affair.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace glovebox {

struct Tool {
  // Parts with dots between them: the function, after the modules that it is in. Each part is a
  // letter, then letters, digits, '_' and '-'.
  std::string name{};
  std::string description{};
  std::string parameters = "{}";  // JSON text of a schema of an object.

  static constexpr std::size_t kMaxParts = 4;
  static constexpr std::size_t kMaxPart = 64;

  friend bool operator==(const Tool&, const Tool&) = default;
};

// What one execution may call; nothing else.
struct ToolOffer {
  static constexpr std::size_t kMaxTools = 128;
  static constexpr std::size_t kMaxBytes = 256UL * 1024;  // Of all names, descriptions and schemas.
  static constexpr std::uint32_t kMaxCalls = 1'000'000;
  static constexpr std::chrono::milliseconds kMaxWait = std::chrono::hours(30 * 24);

  std::vector<Tool> tools{};
  std::uint32_t calls = 10'000;
  // How long calls may be open, all in all, before that counts towards the limit `time`.
  std::chrono::milliseconds wait = std::chrono::hours(1);

  friend bool operator==(const ToolOffer&, const ToolOffer&) = default;
};

// What a call returns: a value, or an error that is raised in the code.
struct ToolAnswer {
  std::string result = "null";         // JSON text of any value; ignored if there is an error.
  std::optional<std::string> error{};  // What went wrong, for whoever wrote the code.

  friend bool operator==(const ToolAnswer&, const ToolAnswer&) = default;
};

// The state of a call, for the one who must answer it.
struct ToolWait {
  bool open = false;     // Its code waits for the answer.
  std::string agreed{};  // The hash of what a person has agreed to about it; empty: to nothing.

  friend bool operator==(const ToolWait&, const ToolWait&) = default;
};

}  // namespace glovebox
