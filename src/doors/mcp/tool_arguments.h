// SPDX-License-Identifier: Apache-2.0
// ToolArguments: the arguments of a tool call, read with bounds. The first mistake counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/mcp/message.h"
#include "spec/command.h"

namespace glovebox::mcp {

class ToolArguments {
 public:
  explicit ToolArguments(const Params& arguments);

  // Each reads one argument; a missing one is empty, false or nothing.
  std::string text(std::string_view name);
  std::string required_text(std::string_view name);
  bool flag(std::string_view name);
  bool required_flag(std::string_view name);
  std::optional<std::uint64_t> count(std::string_view name, std::uint64_t most);
  std::optional<std::chrono::milliseconds> seconds(std::string_view name,
                                                   std::chrono::milliseconds most);
  std::vector<std::string> texts(std::string_view name, std::size_t most);
  // Environment variables: an object of strings.
  Environment environment(std::string_view name, std::size_t most);

  // kInvalid, naming the argument, if one was wrong, missing, or not among those read.
  [[nodiscard]] Result<void> done() const;

 private:
  const Params* take(std::string_view name);
  void refuse(std::string_view name, std::string_view what);

  const Params& arguments_;
  std::vector<std::string> known_;
  std::string problem_;
};

}  // namespace glovebox::mcp
