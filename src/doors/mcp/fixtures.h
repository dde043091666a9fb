// SPDX-License-Identifier: Apache-2.0
// Fixtures: the tools, resources and prompts that the conformance suite of the protocol calls by
// name
// (@modelcontextprotocol/conformance). They run on the same server as our own tools, and in no
// sandbox.
#pragma once

#include "doors/mcp/request_state.h"
#include "doors/mcp/server.h"

namespace glovebox::mcp {

class Fixtures final : public Features {
 public:
  [[nodiscard]] Info info() const override;
  [[nodiscard]] std::string instructions() const override;
  [[nodiscard]] Json capabilities(bool stateless) const override;
  [[nodiscard]] bool has_tasks() const override { return true; }
  [[nodiscard]] std::optional<TaskUse> task_use(const Call& call) const override;
  [[nodiscard]] std::vector<Mirrored> mirrored(std::string_view tool) const override;
  std::optional<Reply> handle(const Call& call) override;

 private:
  Reply call_tool(const Call& call) const;
  Reply ask_for_input(const Call& call) const;

  RequestState states_;
};

}  // namespace glovebox::mcp
