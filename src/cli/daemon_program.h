// SPDX-License-Identifier: Apache-2.0
// The commands that `glovebox` leaves to `glovebox-daemon`: the daemon's own, and its clients.
// Otherwise everyone who runs a file would wait for the start of HTTP, TLS and SQL.
#pragma once

#include <array>
#include <string_view>

#include "base/error.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

struct DaemonCommand {
  const char* name;
  const char* description;
};

inline constexpr DaemonCommand kServe{"serve",
                                      "Run the daemon: a REST API and the E2B protocol over HTTP"};
inline constexpr DaemonCommand kSandbox{"sandbox", "Manage sandboxes on a daemon"};
inline constexpr DaemonCommand kKey{"key", "Manage a daemon's API keys"};
inline constexpr DaemonCommand kTemplate{"template",
                                         "Manage the templates that sandboxes are created from"};
inline constexpr DaemonCommand kTenant{"tenant", "Manage tenants and their quotas"};
inline constexpr DaemonCommand kSecret{"secret", "Manage the key that encrypts a daemon's secrets"};
inline constexpr DaemonCommand kAudit{"audit",
                                      "Search and check a daemon's record of what was done"};
inline constexpr DaemonCommand kEmergencyStop{
    "emergency-stop", "End everything on a daemon at once, until it is resumed"};
inline constexpr DaemonCommand kMcp{"mcp",
                                    "Serve sandboxes to an AI agent over MCP on stdin and stdout"};
inline constexpr DaemonCommand kApprove{"approve",
                                        "Decide about programs that a daemon's policies ask about"};
inline constexpr DaemonCommand kAgent{"agent",
                                      "Run a coding agent in a sandbox, on a copy of a checkout"};
inline constexpr DaemonCommand kReplay{"replay", "Run again what a daemon recorded, and compare"};
inline constexpr std::array kDaemonCommands = {kServe,   kMcp,      kSandbox, kAgent,
                                               kKey,     kTemplate, kTenant,  kSecret,
                                               kApprove, kAudit,    kReplay,  kEmergencyStop};

[[nodiscard]] bool is_daemon_command(std::string_view name);

// Adds their names, for the help and for suggestions when one is misspelled.
void list_daemon_commands(CLI::App& app);

// Becomes glovebox-daemon with the same words (execve(2)). Returns only if that fails.
[[nodiscard]] Error become_daemon_program(char** argv);

}  // namespace glovebox::cli
