// SPDX-License-Identifier: Apache-2.0
// What commands that make something at a daemon have in common: limits and environments, as the
// fields of a request.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/daemon/daemon_client.h"
#include "cli/limit_options.h"

namespace glovebox::cli {

// {"memory": …}, checked here so that an error names the option; empty where none was given.
Result<Json> limits_json(const LimitsText& limits);

// "NAME=VALUE" each; `option` is named in errors.
Result<Json> pairs_json(const std::vector<std::string>& texts, const char* option);

// Network rules, as typed.
struct RemoteNetworkText {
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::vector<std::string> secrets;
};
void add_network_options(CLI::App& command, RemoteNetworkText& rules);
// The same without secrets. `who` may connect, in the words of the help.
void add_rule_options(CLI::App& command, RemoteNetworkText& rules, const std::string& who);

// The field `network` of a request, checked here so that an error names the option; none where no
// rule was given.
Result<void> put_network(Json& request, const RemoteNetworkText& rules);

// A program's text: of a file, or of standard input for "-". At most 8 MiB, as the daemon takes.
Result<std::string> read_program(const std::string& file);

}  // namespace glovebox::cli
