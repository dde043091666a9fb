// SPDX-License-Identifier: Apache-2.0
// WaitingRunner: a Runner that can be started before it is known what its program is to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/tiers/tier.h"
#include "spec/command.h"
#include "spec/limits.h"

namespace glovebox {

class WaitingRunner : public Runner {
 public:
  // The command of ours that gets ready to run the program of `command` and then waits. It writes
  // `waits` to its standard output before anything else, reads what beginning_of() says from its
  // standard input, and goes on as the command of command_for() would.
  struct Waiting {
    Command command;
    std::string_view waits;
  };
  [[nodiscard]] virtual Result<Waiting> waiting_for(const Command& command,
                                                    const Limits& limits) const = 0;
  // `environment` as "NAME=value", all of it.
  [[nodiscard]] virtual std::string beginning_of(
      const Command& command, const std::vector<std::string>& environment) const = 0;
};

}  // namespace glovebox
