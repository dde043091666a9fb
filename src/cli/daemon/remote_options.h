// SPDX-License-Identifier: Apache-2.0
// What commands that make something at a daemon have in common: limits and environments, as the
// fields of a request.
#pragma once

#include <string>
#include <vector>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

struct RemoteLimitsText {
  std::string time{};
  std::string cpu_time{};
  std::string memory{};
  std::string cpus{};
  std::string pids{};
  std::string disk{};
  std::string inodes{};
  std::string open_files{};
};
void add_limit_options(CLI::App& command, RemoteLimitsText& limits);

// {"memory": …}, checked here so that an error names the option; empty where none was given.
Result<Json> limits_json(const RemoteLimitsText& limits);

// "NAME=VALUE" each; `option` is named in errors.
Result<Json> pairs_json(const std::vector<std::string>& texts, const char* option);

// A program's text: of a file, or of standard input for "-". At most 8 MiB, as the daemon takes.
Result<std::string> read_program(const std::string& file);

}  // namespace glovebox::cli
