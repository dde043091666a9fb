// SPDX-License-Identifier: Apache-2.0
// ToolServer: the tools that gpt-oss was trained with, as vLLM looks for them: the servers "python"
// and "container", whose results are one text each.
#pragma once

#include <optional>
#include <string>

#include "doors/mcp/asking_execution.h"
#include "doors/mcp/kept_outputs.h"
#include "doors/mcp/sandbox_features.h"
#include "doors/mcp/server.h"
#include "doors/mcp/tools.h"
#include "service/api/sandbox_service.h"

namespace glovebox::mcp {

class ToolServer final : public Features {
 public:
  enum class Kind { kPython, kContainer };
  // The service outlives it.
  ToolServer(Kind kind, SandboxService& service, SandboxFeaturesOptions options);

  [[nodiscard]] Info info() const override;
  [[nodiscard]] std::string instructions() const override;
  [[nodiscard]] Json capabilities(bool stateless) const override;
  std::optional<Reply> handle(const Call& call) override;

 private:
  [[nodiscard]] Json list_tools() const;
  Reply call_tool(const Call& call);

  const Kind kind_;
  SandboxService& service_;
  const SandboxFeaturesOptions options_;
  KeptOutputs outputs_;
  ParkedExecutions parked_;
};

}  // namespace glovebox::mcp
