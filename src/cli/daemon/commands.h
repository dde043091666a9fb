// SPDX-License-Identifier: Apache-2.0
// The commands of glovebox-daemon.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/daemon_program.h"

namespace glovebox::cli {

void add_serve(CLI::App& app, Action* action);

// The commands that use a daemon. Their options are described only if the command line names them,
// so that no other command has to wait for that. `words` is what follows "--".
void add_sandbox(CLI::App& app,
                 bool described,
                 const std::vector<std::string>& words,
                 Action* action);
void add_agent(CLI::App& app,
               bool described,
               const std::vector<std::string>& words,
               Action* action);
void add_key(CLI::App& app, bool described, Action* action);
void add_tenant(CLI::App& app, bool described, Action* action);
void add_template(CLI::App& app, bool described, Action* action);
void add_secret(CLI::App& app, bool described, Action* action);
void add_approve(CLI::App& app, bool described, Action* action);
void add_audit(CLI::App& app, bool described, Action* action);
void add_replay(CLI::App& app, bool described, Action* action);
void add_emergency_stop(CLI::App& app, bool described, Action* action);
void add_mcp(CLI::App& app, bool described, Action* action);

}  // namespace glovebox::cli
