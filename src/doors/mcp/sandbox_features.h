// SPDX-License-Identifier: Apache-2.0
// SandboxFeatures: Glovebox's own tools, on top of a SandboxService.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "doors/mcp/asking_execution.h"
#include "doors/mcp/kept_outputs.h"
#include "doors/mcp/server.h"
#include "service/api/approval_desk.h"
#include "service/api/sandbox_service.h"

namespace glovebox::mcp {

struct SandboxFeaturesOptions {
  // Of each sandbox. Its timeout is counted anew from each use.
  SandboxRequest sandbox{};
  // Done in each new sandbox before anybody uses it.
  std::function<Result<void>(const Caller& caller, const std::string& sandbox)> prepare{};
  // For a call that names no time, and the most that a call may name.
  std::chrono::milliseconds time{60'000};
  std::chrono::milliseconds most_time{3'600'000};
  bool packages = false;  // Whether packages can be installed from somewhere.
  // The domain of ports' host names, as for `serve --domain`; empty: ports have paths only.
  // Nothing: nobody outside reaches them.
  std::optional<std::string> port_domain{};
  // Where clients decide what a policy asks about; outlives the features. Null: they do not.
  ApprovalDesk* approvals = nullptr;
  // Whether others can, too. Otherwise a client without forms is refused at once.
  bool others_approve = true;
};

class SandboxFeatures final : public Features {
 public:
  // The service outlives it.
  SandboxFeatures(SandboxService& service, SandboxFeaturesOptions options);

  [[nodiscard]] Info info() const override;
  [[nodiscard]] std::string instructions() const override;
  [[nodiscard]] Json capabilities(bool stateless) const override;
  [[nodiscard]] bool has_tasks() const override { return true; }
  [[nodiscard]] std::optional<TaskUse> task_use(const Call& call) const override;
  [[nodiscard]] std::uint64_t resource_changes(const Caller& caller) const override {
    return outputs_.changes(caller.tenant);
  }
  std::optional<Reply> handle(const Call& call) override;

 private:
  Reply call_tool(const Call& call);
  [[nodiscard]] Json list_resources(const Call& call) const;
  [[nodiscard]] Reply read_resource(const Call& call) const;

  SandboxService& service_;
  const SandboxFeaturesOptions options_;
  KeptOutputs outputs_;
  ParkedExecutions parked_;
};

}  // namespace glovebox::mcp
