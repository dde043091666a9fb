// SPDX-License-Identifier: Apache-2.0
// A command in a daemon's sandbox, with our streams or our terminal.
#pragma once

#include <string>
#include <vector>

#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

struct ProcessOrder {
  std::vector<std::string> argv{};
  std::string cwd{};
  Json env = Json::object();
  std::string user{};
  std::string timeout{};
  bool json = false;     // One object at the end.
  bool events = false;   // JSON lines as they happen.
  Json* into = nullptr;  // Takes the object instead of standard output, also with `events`.
};

// The request for an order. kInvalid for words that JSON cannot carry.
Result<Json> process_request(const ProcessOrder& order);

// Runs it with our standard input, output and error; returns its exit status. `sandbox` is its
// path. The first interrupt goes to the process, a second one kills it, a third one leaves it.
Result<int> run_process(const DaemonOptionsText& daemon,
                        const std::string& sandbox,
                        const ProcessOrder& order);

// Runs it in a terminal of its own, shown in ours. kInvalid if our streams are not a terminal. Ours
// is as it was when this returns, whatever ends it.
Result<int> run_in_terminal(const DaemonOptionsText& daemon,
                            const std::string& sandbox,
                            const ProcessOrder& order);

}  // namespace glovebox::cli
