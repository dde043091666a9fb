// SPDX-License-Identifier: Apache-2.0
// The commands that `glovebox` leaves to `glovebox-daemon`: that of the daemon, and its clients.
// One who runs a file would wait for the start of HTTP, TLS and SQL otherwise.
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

inline constexpr DaemonCommand kServe{"serve", "The daemon: REST and E2B's protocol over HTTP"};
inline constexpr DaemonCommand kSandbox{"sandbox", "Sandboxes that a daemon holds"};
inline constexpr DaemonCommand kKey{"key", "API keys of a daemon"};
inline constexpr DaemonCommand kTemplate{"template", "What sandboxes are made from"};
inline constexpr DaemonCommand kTenant{"tenant", "Those who share a daemon, and their quotas"};
inline constexpr DaemonCommand kSecret{"secret", "The key that encrypts a daemon's secrets"};
inline constexpr std::array kDaemonCommands = {kServe, kSandbox, kKey, kTemplate, kTenant, kSecret};

[[nodiscard]] bool is_daemon_command(std::string_view name);

// Their names, for the help and for those who misspell one.
void list_daemon_commands(CLI::App& app);

// Goes on as glovebox-daemon with the same words (execve(2)). Answers only when that failed.
[[nodiscard]] Error become_daemon_program(char** argv);

}  // namespace glovebox::cli
