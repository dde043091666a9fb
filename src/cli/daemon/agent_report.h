// SPDX-License-Identifier: Apache-2.0
// The result of `glovebox agent` for a program: glovebox.agent/1.
#pragma once

#include <cstddef>
#include <string>

#include "cli/agent/checkout.h"
#include "cli/daemon/agent_decision.h"
#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

struct AgentReport {
  std::string agent;
  std::string sandbox;
  bool kept = false;  // The sandbox still exists.
  std::size_t copied = 0;
  Json command{};  // What the agent said: a glovebox.command/1, or null.
  Decided decided{};
};

Json to_json(const AgentReport& report, const Checkout& checkout, const std::string& branch);

}  // namespace glovebox::cli
