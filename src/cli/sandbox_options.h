// SPDX-License-Identifier: Apache-2.0
// The options of commands that open a sandbox with a live interpreter: its walls, limits,
// environment and files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "service/live_session.h"

namespace CLI {
class App;
}  // namespace CLI

namespace glovebox::cli {

// As typed.
struct SandboxOptionsText {
  std::string tier;
  std::string min_tier;
  std::string memory;
  std::string cpu_time;
  std::string disk;
  std::string io_rate;
  std::optional<double> cpus;
  std::optional<std::uint32_t> pids;
  std::optional<std::uint32_t> inodes;
  std::optional<std::uint32_t> open_files;
  std::vector<std::string> env;
  std::vector<std::string> files;
  std::vector<std::string> packages;
  std::vector<std::string> package_sources;
  std::vector<std::string> package_indexes;
};

void add_options(CLI::App& command, SandboxOptionsText& options);

// Applied to every option once all are there: each takes one value, and no empty one. A value that
// came out empty, as that of a script's unset variable, must not pass for an option left out.
void forbid_empty_values(CLI::App& command);

// What the options mean for a session of `language`. There is no wall time limit: who sits before
// it can interrupt.
Result<LiveSpec> make_live_spec(Language language, const SandboxOptionsText& options);

// "30s" and the like of the named option; nothing when `text` is empty.
Result<std::optional<std::chrono::milliseconds>> parse_time(const std::string& text,
                                                            const char* option);

}  // namespace glovebox::cli
