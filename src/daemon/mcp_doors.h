// SPDX-License-Identifier: Apache-2.0
// McpDoors: the doors of the Model Context Protocol, with the tools behind them.
#pragma once

#include <string>
#include <vector>

#include "doors/mcp/http/door.h"
#include "doors/mcp/http/sse_door.h"
#include "doors/mcp/sandbox_features.h"
#include "doors/mcp/tool_server.h"
#include "service/api/approval_desk.h"
#include "service/api/sandbox_service.h"

namespace glovebox {

class McpDoors {
 public:
  struct Options {
    bool packages = false;               // Whether there is a source to install packages from.
    std::string domain{};                // As `serve --domain`.
    std::vector<std::string> origins{};  // Web pages that may ask, besides those of this machine.
  };
  // `guarded` checks what each caller may do; `service`, behind it, also deletes what a key left
  // behind that is no longer valid. At `approvals`, callers decide what a policy asks about, if
  // they may. All of them outlive this.
  McpDoors(SandboxService& service,
           SandboxService& guarded,
           ApprovalDesk& approvals,
           const Options& options);

  // `/mcp`.
  [[nodiscard]] Door& http() { return http_; }
  // `/mcp/python/sse` and `/mcp/container/sse`.
  [[nodiscard]] Door& sse() { return sse_; }

 private:
  mcp::SandboxFeatures tools_;
  mcp::ToolServer python_;
  mcp::ToolServer container_;
  mcp::HttpDoor http_;
  mcp::SseDoor sse_;
};

}  // namespace glovebox
