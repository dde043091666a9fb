// SPDX-License-Identifier: Apache-2.0
// What commands that create something at a daemon share: limits and environments, as the fields of
// a request.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/daemon/daemon_client.h"
#include "cli/limit_options.h"

namespace glovebox::cli {

// {"memory": …}, checked here so that an error names the option; empty if none was given.
Result<Json> limits_json(const LimitsText& limits);

// Each text is "NAME=VALUE"; errors name `option`.
Result<Json> pairs_json(const std::vector<std::string>& texts, const char* option);

// Network rules, as typed.
struct RemoteNetworkText {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::vector<std::string> secrets;
};
void add_network_options(CLI::App& command, RemoteNetworkText& rules);
// The same without secrets. `who` says in the help who may connect.
void add_rule_options(CLI::App& command, RemoteNetworkText& rules, const std::string& who);

// Adds the field `network` to a request, checked here so that an error names the option; adds none
// if no rule was given.
Result<void> put_network(Json& request, const RemoteNetworkText& rules);

// A program's text: from a file, or from standard input for "-". At most 8 MiB, the daemon's limit.
Result<std::string> read_program(const std::string& file);

}  // namespace glovebox::cli
