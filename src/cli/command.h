// SPDX-License-Identifier: Apache-2.0
// What all commands share: how they are added, and how they end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

// Exit statuses of `glovebox` itself (shared with `docker run` and timeout(1), so that scripts know
// them). Everything else is the guest's own.
inline constexpr int kExitWrongUsage = 2;
inline constexpr int kExitUnverified = 123;
inline constexpr int kExitTimeout = 124;
inline constexpr int kExitFailed = 125;
inline constexpr int kExitRefused = 126;
inline constexpr int kExitOutOfMemory = 137;

// Each adds its command to `app`; when the command line names it, `*action` is set to what it does.
using Action = std::function<int()>;
// `guest_words` is what follows "--", for the program; the parser never sees it.
void add_run(CLI::App& app, const std::vector<std::string>& guest_words, Action* action);
void add_judge(CLI::App& app, const std::vector<std::string>& guest_words, Action* action);
void add_mcp_wrap(CLI::App& app, const std::vector<std::string>& guest_words, Action* action);
void add_policy(CLI::App& app, Action* action);
void add_pool(CLI::App& app, Action* action);
void add_repl(CLI::App& app, Action* action);
void add_notebook(CLI::App& app, Action* action);
void add_languages(CLI::App& app, Action* action);
void add_doctor(CLI::App& app, Action* action);

// Tells the person what went wrong and what to do, on standard error; returns the exit status.
int report(const Error& error);
// The exit status of a command, after its error was reported.
inline int ended(const Result<int>& status) { return status ? *status : report(status.error()); }

}  // namespace glovebox::cli
