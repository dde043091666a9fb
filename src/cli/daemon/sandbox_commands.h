// SPDX-License-Identifier: Apache-2.0
// The commands below `glovebox sandbox`, one per file; each is a client of the daemon.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/daemon/daemon_client.h"

namespace glovebox::cli {

void add_sandbox_create(CLI::App& group, Action* action);
void add_sandbox_list(CLI::App& group, Action* action);
void add_sandbox_info(CLI::App& group, Action* action);
// With words behind "--" it runs a command, else code.
void add_sandbox_exec(CLI::App& group, const std::vector<std::string>& words, Action* action);
// The words behind "--" are its command.
void add_sandbox_ssh(CLI::App& group, const std::vector<std::string>& words, Action* action);
void add_sandbox_run(CLI::App& group, Action* action);
void add_sandbox_dry_run(CLI::App& group, Action* action);
void add_sandbox_copy(CLI::App& group, Action* action);
void add_sandbox_files(CLI::App& group, Action* action);
void add_sandbox_packages(CLI::App& group, Action* action);
void add_sandbox_logs(CLI::App& group, Action* action);

// All sandboxes of the caller's tenant, newest first: an array of objects, at most 10,000 plus a
// page. `filters` is empty, or begins with '&' and is appended to the query as it is. Fails as
// DaemonClient::ask() does.
Result<Json> fetch_sandboxes(DaemonClient& daemon, const std::string& filters);

// kill, pause, resume, extend, snapshot, fork.
void add_sandbox_lifecycle(CLI::App& group, Action* action);
void add_sandbox_archives(CLI::App& group, Action* action);

}  // namespace glovebox::cli
