// SPDX-License-Identifier: Apache-2.0
// What the commands of a build may connect to, and what they were refused.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sandbox/spec.h"
#include "service/network/egress.h"
#include "service/templates/build_monitor.h"
#include "spec/network_rules.h"

namespace glovebox {

// Rules of the recipe, which the operator has allowed.
struct BuildNetwork {
  NetworkRules rules{};
  bool public_only = true;  // As in egress::Order.
};

// The way out of one sandbox of a build. The build's log names each place that a command did not
// reach. One thread at a time.
class BuildEgress {
 public:
  // No way out, as with rules that let nothing out.
  BuildEgress() = default;

  // Makes room for it in a sandbox that will be made.
  static void prepare(SandboxSpec& spec, const BuildNetwork& network);
  // For a sandbox that was prepared, before anything runs there. `monitor` outlives it.
  static Result<BuildEgress> start(Sandbox& sandbox,
                                   const BuildNetwork& network,
                                   BuildMonitor& monitor);

  // What may have kept a command from its work: that there is no network, or what the rules have
  // refused. Empty if it was neither. Ends the network.
  std::string end();

 private:
  explicit BuildEgress(std::unique_ptr<Egress> egress) : egress_(std::move(egress)) {}

  std::unique_ptr<Egress> egress_;
};

}  // namespace glovebox
