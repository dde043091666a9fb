// SPDX-License-Identifier: Apache-2.0
#include "cli/shared_options.h"

#include <CLI/CLI.hpp>

#include "base/bytes.h"
#include "base/duration.h"
#include "base/text.h"

namespace glovebox::cli {

void add_shared_options(CLI::App& command, SharedOptionsText& options, const char* cpu_time) {
  command
      .add_option("--tier", options.tier, "Require exactly this isolation tier: native, landlock")
      ->group(kIsolationOptions);
  command
      .add_option("--min-tier", options.min_tier, "Require this isolation tier or a stronger one")
      ->group(kIsolationOptions);

  command.add_option("--cpu-time", options.cpu_time, cpu_time)->group(kLimitOptions);
  command.add_option("--memory", options.memory, "Memory limit: 512M")->group(kLimitOptions);
  command.add_option("--cpus", options.cpus, "CPU limit: 0.5, 2")->group(kLimitOptions);
  command.add_option("--pids", options.pids, "Maximum number of processes and threads")
      ->group(kLimitOptions);
  command.add_option("--disk", options.disk, "Disk space limit: 256M")->group(kLimitOptions);
  command.add_option("--inodes", options.inodes, "Maximum number of files")->group(kLimitOptions);
  command
      .add_option("--open-files", options.open_files, "Maximum number of open files per process")
      ->group(kLimitOptions);
  command.add_option("--io-rate", options.io_rate, "Disk I/O limit in bytes per second: 10M")
      ->group(kLimitOptions);

  command.add_option("--env", options.env, "Environment variable NAME=VALUE; repeatable")
      ->group(kFileOptions);
  command
      .add_option("--file", options.files, "File or directory to copy in, as SRC[:DST]; repeatable")
      ->group(kFileOptions);
}

Result<std::optional<std::chrono::milliseconds>> parse_time(const std::string& text,
                                                            const char* option) {
  if (text.empty()) {
    return std::optional<std::chrono::milliseconds>();
  }
  const auto time = parse_duration(text);
  if (!time) {
    return Error(time.error()).within(option);
  }
  if (time->count() == 0) {
    return Error(ErrorCode::kInvalid, std::string(option) + " must be greater than zero",
                 "use 1ms or more, or leave it out");
  }
  return std::optional(*time);
}

Result<std::optional<Bytes>> parse_size(const std::string& text, const char* option) {
  if (text.empty()) {
    return std::optional<Bytes>();
  }
  const auto size = parse_bytes(text);
  if (!size) {
    return Error(size.error()).within(option);
  }
  return std::optional(*size);
}

Result<LimitDefaults> parse_limits(const SharedOptionsText& options) {
  LimitDefaults limits;
  limits.cpu_time = GB_TRY(parse_time(options.cpu_time, "--cpu-time"));
  limits.memory = GB_TRY(parse_size(options.memory, "--memory"));
  limits.disk = GB_TRY(parse_size(options.disk, "--disk"));
  limits.cpus = options.cpus;
  limits.pids = options.pids;
  limits.inodes = options.inodes;
  limits.open_files = options.open_files;
  return limits;
}

Result<Environment> parse_environment(const SharedOptionsText& options) {
  Environment env;
  for (const std::string& text : options.env) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error(ErrorCode::kInvalid, "--env: '" + printable(text) + "' is not NAME=VALUE",
                   "for example: --env MODE=test");
    }
    env.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace glovebox::cli
